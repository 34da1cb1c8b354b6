"""Encoders as they are published: keys and values of ``config.json`` and ``tokenizer.json``.

Sizes alone are smaller (``SMALL``), and ids of special pieces those of a vocabulary that is learnt
from ``TEXT``. Every architecture that the docs name is here, and others that users may try.
"""

import json
from pathlib import Path

from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

TEXT = (
    "Add 5 ml of the cold buffer to the tube, mix it and spin. Don't warm the buffer (pH 7.4)!",
    "The cells were washed twice; Ada's élan isn't lost. It's 50ml... and can't be 中文, größer.",
    "add mix warm cold buffer water cells tube 5 10 ml for spin wash the and",
)
ROOM = 400  # pieces at most
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
DEBERTA = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
ALBERT = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
T5 = ("<pad>", "</s>", "<unk>", "<extra_id_0>", "<extra_id_1>")
XLNET = ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>")
ESM = ("<cls>", "<pad>", "<eos>", "<unk>")
MODERN = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "|||IP_ADDRESS|||", "  ", "   ")

# -- tokenizers


def _template(open_, close, twice="", types=1):
    pair = f"{open_}:0 $A:0 {close}:0 {twice and twice + ':0 '}$B:{types} {close}:{types}"
    return f"{open_}:0 $A:0 {close}:0", pair


def _framed(made, open_, close, twice="", types=1):
    single, pair = _template(open_, close, twice, types)
    ids = [(text, made.token_to_id(text)) for text in (open_, close)]
    made.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=ids
    )
    return made


def wordpiece(special=BERT, *, lower=True):
    """BERT's, as bert-base-uncased and -cased have it."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=lower
    )
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    made.train_from_iterator(
        TEXT, trainers.WordPieceTrainer(vocab_size=ROOM, special_tokens=list(special))
    )
    return _framed(made, "[CLS]", "[SEP]")


def _bytes(special, add_prefix_space=False, trim=True):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=add_prefix_space, trim_offsets=trim, use_regex=True
    )
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=ROOM,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator(TEXT, trainer)
    return made


def roberta(*, add_prefix_space=False):
    """Byte-level BPE, as roberta-base and longformer-base-4096 have it."""
    made = _bytes(ROBERTA, add_prefix_space)
    ids = [("</s>", made.token_to_id("</s>")), ("<s>", made.token_to_id("<s>"))]
    made.post_processor = processors.RobertaProcessing(
        *ids, trim_offsets=True, add_prefix_space=add_prefix_space
    )
    return made


def deberta():
    """Byte-level BPE, as deberta-base has it."""
    return _framed(_bytes(DEBERTA), "[CLS]", "[SEP]")


def modernbert():
    """Byte-level BPE with runs of blanks of their own, as ModernBERT-base has it."""
    made = _bytes(MODERN[:5])
    made.normalizer = normalizers.NFC()
    made.add_tokens(list(MODERN[5:]))
    return _framed(made, "[CLS]", "[SEP]", types=0)


def llama3():
    """Byte-level BPE behind the pattern of Llama 3, as EuroBERT has it."""
    made = _bytes(("<|begin_of_text|>", "<|end_of_text|>", "<|mask|>", "<|pad|>"))
    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=False),
        ]
    )
    return _framed(made, "<|begin_of_text|>", "<|end_of_text|>", types=0)


def _unigram(special, unknown, normalizer, pre_tokenizer):
    made = Tokenizer(models.Unigram())
    made.normalizer, made.pre_tokenizer = normalizer, pre_tokenizer
    made.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=150, special_tokens=list(special), unk_token=unknown
    )
    made.train_from_iterator(TEXT, trainer)
    return made


def _metaspace(*before):
    space = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    return pre_tokenizers.Sequence([*before, space]) if before else space


def xlm_roberta():
    """SentencePiece, as xlm-roberta-base and camembert-base have it (but for the map: NFKC)."""
    special = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    space = _metaspace(pre_tokenizers.WhitespaceSplit())
    made = _unigram(special, "<unk>", normalizers.NFKC(), space)
    return _framed(made, "<s>", "</s>", "</s>", types=0)


def deberta_v3():
    """SentencePiece, as deberta-v3-base has it, by transformers' own converter."""
    normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "),
            normalizers.NFC(),
            normalizers.Strip(left=False, right=True),
        ]
    )
    made = _unigram(DEBERTA, "[UNK]", normalizer, pre_tokenizers.Sequence([_metaspace()]))
    return _framed(made, "[CLS]", "[SEP]")


def albert():
    """SentencePiece, as albert-base-v2 has it."""
    normalizer = normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.Replace("''", '"'),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
        ]
    )
    space = _metaspace(pre_tokenizers.WhitespaceSplit())
    return _framed(_unigram(ALBERT, "<unk>", normalizer, space), "[CLS]", "[SEP]")


def big_bird():
    """SentencePiece, as bigbird-roberta-base has it."""
    normalizer = normalizers.Sequence(
        [normalizers.Strip(left=False, right=False), normalizers.Replace(Regex(r" {2,}"), "▁")]
    )
    return _framed(_unigram(ALBERT, "<unk>", normalizer, _metaspace()), "[CLS]", "[SEP]")


def t5():
    """SentencePiece, as t5-small has it: a closing piece and no opening one."""
    space = _metaspace(pre_tokenizers.WhitespaceSplit())
    made = _unigram(T5, "<unk>", normalizers.NFKC(), space)
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return made


def xlnet():
    """SentencePiece, as xlnet-base-cased has it: both special pieces stand behind."""
    normalizer = normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.Replace("''", '"'),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    space = _metaspace(pre_tokenizers.WhitespaceSplit())
    made = _unigram(XLNET, "<unk>", normalizer, space)
    ids = [(text, made.token_to_id(text)) for text in ("<sep>", "<cls>")]
    made.post_processor = processors.TemplateProcessing(
        single="$A:0 <sep>:0 <cls>:2", pair="$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2", special_tokens=ids
    )
    return made


def flaubert():
    """BPE whose words end in </w>, as XLM and FlauBERT have it."""
    made = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    made.normalizer = normalizers.BertNormalizer(lowercase=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.BPEDecoder(suffix="</w>")
    special = ["<s>", "</s>", "<pad>", "<unk>", "<special1>"]
    trainer = trainers.BpeTrainer(
        vocab_size=ROOM, special_tokens=special, end_of_word_suffix="</w>"
    )
    made.train_from_iterator(TEXT, trainer)
    return _framed(made, "<s>", "</s>", types=0)


# -- configurations

SMALL = {
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
_BERT = {
    "attention_probs_dropout_prob": 0.1, "gradient_checkpointing": False, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "initializer_range": 0.02, "layer_norm_eps": 1e-12,
    "max_position_embeddings": 512, "pad_token_id": 0, "position_embedding_type": "absolute",
    "transformers_version": "4.6.0.dev0", "type_vocab_size": 2, "use_cache": True, **SMALL,
}  # fmt: skip
_ROBERTA = {
    "attention_probs_dropout_prob": 0.1, "bos_token_id": 0, "eos_token_id": 2, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "initializer_range": 0.02, "layer_norm_eps": 1e-05,
    "max_position_embeddings": 514, "pad_token_id": 1, "type_vocab_size": 1, **SMALL,
}  # fmt: skip
_XLM_ROBERTA = {**_ROBERTA, "output_past": True, "position_embedding_type": "absolute"}
_DEBERTA_V3 = {
    "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
    "initializer_range": 0.02, "layer_norm_eps": 1e-07, "max_position_embeddings": 512,
    "max_relative_positions": -1, "norm_rel_ebd": "layer_norm", "pad_token_id": 0,
    "pooler_dropout": 0, "pooler_hidden_act": "gelu", "pooler_hidden_size": 24,
    "pos_att_type": "p2c|c2p", "position_biased_input": False, "position_buckets": 256,
    "relative_attention": True, "share_att_key": True, "type_vocab_size": 0, **SMALL,
}  # fmt: skip
_T5 = {
    "d_ff": 32, "d_kv": 12, "d_model": 24, "decoder_start_token_id": 0, "dropout_rate": 0.1,
    "eos_token_id": 1, "initializer_factor": 1.0, "is_encoder_decoder": True,
    "layer_norm_epsilon": 1e-06, "n_positions": 512, "num_heads": 2, "num_layers": 2,
    "output_past": True, "pad_token_id": 0, "relative_attention_num_buckets": 32,
    "task_specific_params": {"summarization": {"early_stopping": True, "num_beams": 4}},
}  # fmt: skip

# name of the published encoder: its configuration, its tokenizer
PUBLISHED = {
    "bert-base-uncased": ({"model_type": "bert", **_BERT}, wordpiece),
    "distilbert-base-uncased": (
        {
            "activation": "gelu", "attention_dropout": 0.1, "dim": 24, "dropout": 0.1,
            "hidden_dim": 32, "initializer_range": 0.02, "max_position_embeddings": 512,
            "model_type": "distilbert", "n_heads": 2, "n_layers": 2, "pad_token_id": 0,
            "qa_dropout": 0.1, "seq_classif_dropout": 0.2, "sinusoidal_pos_embds": False,
            "tie_weights_": True, "transformers_version": "4.10.0.dev0",
        },
        wordpiece,
    ),
    "roberta-base": ({"model_type": "roberta", **_ROBERTA}, roberta),
    "roberta-prelayernorm (efficient_mlm_m0.40)": (
        {"model_type": "roberta-prelayernorm", **_ROBERTA, "classifier_dropout": None},
        lambda: roberta(add_prefix_space=True),
    ),
    "xlm-roberta-base": ({"model_type": "xlm-roberta", **_XLM_ROBERTA}, xlm_roberta),
    "xlm-roberta-xl": (
        {"model_type": "xlm-roberta-xl", **_XLM_ROBERTA, "layer_norm_eps": 1e-05},
        xlm_roberta,
    ),
    "camembert-base": ({"model_type": "camembert", **_XLM_ROBERTA}, xlm_roberta),
    "electra-base-discriminator": (
        {
            "model_type": "electra", **_BERT, "embedding_size": 12, "summary_activation": "gelu",
            "summary_last_dropout": 0.1, "summary_type": "first", "summary_use_proj": True,
        },
        wordpiece,
    ),
    "albert-base-v2": (
        {
            "attention_probs_dropout_prob": 0, "bos_token_id": 2, "classifier_dropout_prob": 0.1,
            "down_scale_factor": 1, "embedding_size": 12, "eos_token_id": 3, "gap_size": 0,
            "hidden_act": "gelu_new", "hidden_dropout_prob": 0, "hidden_size": 24,
            "initializer_range": 0.02, "inner_group_num": 1, "intermediate_size": 32,
            "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "albert",
            "net_structure_type": 0, "num_attention_heads": 2, "num_hidden_groups": 1,
            "num_hidden_layers": 2, "num_memory_blocks": 0, "pad_token_id": 0,
            "type_vocab_size": 2,
        },
        albert,
    ),
    "mpnet-base": (
        {
            "model_type": "mpnet", **_ROBERTA, "relative_attention_num_buckets": 32,
        },
        wordpiece,
    ),
    "deberta-base": (
        {
            "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
            "initializer_range": 0.02, "layer_norm_eps": 1e-7, "max_position_embeddings": 512,
            "max_relative_positions": -1, "model_type": "deberta", "padding_idx": 0,
            "pad_token_id": 0, "pooler_dropout": 0, "pooler_hidden_act": "gelu",
            "pooler_size": 24, "pos_att_type": "c2p|p2c", "position_biased_input": False,
            "relative_attention": True, "type_vocab_size": 0, **SMALL,
        },
        deberta,
    ),
    "deberta-v2-xlarge": (
        {
            "model_type": "deberta-v2", **_DEBERTA_V3, "attention_head_size": 12,
            "conv_act": "gelu", "conv_kernel_size": 3,
        },
        deberta_v3,
    ),
    "deberta-v3-base": ({"model_type": "deberta-v2", **_DEBERTA_V3}, deberta_v3),
    "ModernBERT-base": (
        {
            "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 1,
            "classifier_activation": "gelu", "classifier_bias": False, "classifier_dropout": 0.0,
            "classifier_pooling": "mean", "cls_token_id": 1, "decoder_bias": True,
            "deterministic_flash_attn": False, "embedding_dropout": 0.0, "eos_token_id": 2,
            "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0,
            "gradient_checkpointing": False,
            "hidden_activation": "gelu", "initializer_cutoff_factor": 2.0,
            "initializer_range": 0.02,
            "layer_norm_eps": 1e-05, "local_attention": 128, "local_rope_theta": 10000.0,
            "max_position_embeddings": 8192, "mlp_bias": False, "mlp_dropout": 0.0,
            "model_type": "modernbert", "norm_bias": False, "norm_eps": 1e-05, "pad_token_id": 3,
            "position_embedding_type": "absolute", "reference_compile": None,
            "repad_logits_with_grad": False, "sep_token_id": 2, "sparse_pred_ignore_index": -100,
            "sparse_prediction": False, "tie_word_embeddings": True, "torch_dtype": "float32",
            **SMALL, "num_hidden_layers": 4,
        },
        modernbert,
    ),
    "ernie-2.0-base-en": (
        {
            "model_type": "ernie", **_BERT, "layer_norm_eps": 1e-05, "max_position_embeddings": 512,
            "task_type_vocab_size": 3, "use_task_id": False,
        },
        wordpiece,
    ),
    "megatron-bert-cased-345m": (
        {"model_type": "megatron-bert", **_BERT},
        lambda: wordpiece(lower=False),
    ),
    "rembert": (
        {
            "attention_probs_dropout_prob": 0, "bos_token_id": 2, "classifier_dropout_prob": 0.1,
            "embedding_size": None, "eos_token_id": 3, "hidden_act": "gelu",
            "hidden_dropout_prob": 0,
            "initializer_range": 0.02, "input_embedding_size": 12, "layer_norm_eps": 1e-12,
            "max_position_embeddings": 512, "model_type": "rembert", "output_embedding_size": 32,
            "pad_token_id": 0, "tie_word_embeddings": False, "type_vocab_size": 2, **SMALL,
        },
        albert,
    ),
    "nomic-bert-2048": (
        {
            "model_type": "nomic_bert", **{k: v for k,
            v in _BERT.items() if k != "type_vocab_size"},
            "type_vocab_size": 2, "max_position_embeddings": 2048, "head_dim": 12,
            "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
        },
        wordpiece,
    ),
    "mobilebert-uncased": (
        {
            "model_type": "mobilebert", **_BERT, "hidden_act": "relu",
            "normalization_type": "no_norm",
            "embedding_size": 12, "hidden_dropout_prob": 0.0, "intra_bottleneck_size": 12,
            "key_query_shared_bottleneck": True, "num_feedforward_networks": 2,
            "trigram_input": True, "true_hidden_size": 12, "use_bottleneck": True,
            "use_bottleneck_attention": False, "attention_probs_dropout_prob": 0.1,
            "classifier_activation": False,
        },
        wordpiece,
    ),
    "conv-bert-base": (
        {
            "model_type": "convbert", **_BERT, "embedding_size": 24, "head_ratio": 2,
            "conv_kernel_size": 9, "num_groups": 1, "bos_token_id": 0, "eos_token_id": 2,
            "num_attention_heads": 4, "layer_norm_eps": 1e-12, "summary_activation": "gelu",
        },
        wordpiece,
    ),
    "squeezebert-uncased": (
        {
            "model_type": "squeezebert", **_BERT, "embedding_size": 24, "k_groups": 4,
            "q_groups": 4,
            "v_groups": 4, "intermediate_groups": 4, "output_groups": 4, "post_attention_groups": 1,
            "num_attention_heads": 4,
        },
        wordpiece,
    ),
    "longformer-base-4096": (
        {
            "model_type": "longformer", **_ROBERTA, "attention_mode": "longformer",
            "attention_window": [16, 16], "ignore_attention_mask": False,
            "max_position_embeddings": 4098, "sep_token_id": 2,
        },
        roberta,
    ),
    "bigbird-roberta-base": (
        {
            "model_type": "big_bird", **_BERT, "attention_type": "block_sparse", "block_size": 64,
            "bos_token_id": 2, "eos_token_id": 3, "gradient_checkpointing": False,
            "hidden_act": "gelu_new", "max_position_embeddings": 4096, "num_random_blocks": 3,
            "rescale_embeddings": False, "sep_token_id": 3, "use_bias": True,
        },
        big_bird,
    ),
    "roformer": (
        {"model_type": "roformer", **_BERT, "embedding_size": 24, "rotary_value": False},
        wordpiece,
    ),
    "nystromformer-512": (
        {
            "model_type": "nystromformer", **_ROBERTA, "conv_kernel_size": 65,
            "inv_coeff_init_option": False, "max_position_embeddings": 510, "num_landmarks": 64,
            "segment_means_seq_len": 64, "type_vocab_size": 2,
        },
        albert,
    ),
    "data2vec-text-base": ({"model_type": "data2vec-text", **_ROBERTA}, roberta),
    "xmod-base": (
        {
            "model_type": "xmod", **_ROBERTA, "adapter_layer_norm": False,
            "adapter_reduction_factor": 2,
            "adapter_reuse_layer_norm": True, "default_language": "en_XX", "languages": ["en_XX",
            "de_DE"],
            "ln_before_adapter": True, "pre_norm": False,
        },
        xlm_roberta,
    ),
    "xlm-mlm-en-2048": (
        {
            "asm": False, "attention_dropout": 0.1, "bos_index": 0, "causal": False, "dropout": 0.1,
            "emb_dim": 24, "embed_init_std": 0.02, "eos_index": 1, "gelu_activation": True,
            "init_std": 0.02, "is_encoder": True, "layer_norm_eps": 1e-12, "mask_index": 4,
            "max_position_embeddings": 512, "model_type": "xlm", "n_heads": 2, "n_langs": 1,
            "n_layers": 2, "pad_index": 2, "pad_token_id": 2, "sinusoidal_embeddings": False,
            "unk_index": 3, "use_lang_emb": True,
        },
        flaubert,
    ),
    "flaubert_base_cased": (
        {
            "amp": 1, "attention_dropout": 0.1, "bos_index": 0, "causal": False, "dropout": 0.1,
            "emb_dim": 24, "embed_init_std": 0.02, "eos_index": 1, "gelu_activation": True,
            "init_std": 0.02, "is_encoder": True, "layer_norm_eps": 1e-06, "layerdrop": 0.0,
            "mask_index": 4, "max_position_embeddings": 512, "model_type": "flaubert", "n_heads": 2,
            "n_langs": 1, "n_layers": 2, "pad_index": 2, "pad_token_id": 2, "pre_norm": False,
            "sinusoidal_embeddings": False, "unk_index": 3, "use_lang_emb": True,
        },
        flaubert,
    ),
    "xlnet-base-cased": (
        {
            "attn_type": "bi", "bi_data": False, "bos_token_id": 1, "clamp_len": -1, "d_head": 12,
            "d_inner": 32, "d_model": 24, "dropout": 0.1, "end_n_top": 5, "eos_token_id": 2,
            "ff_activation": "gelu", "initializer_range": 0.02, "layer_norm_eps": 1e-12,
            "mem_len": None, "model_type": "xlnet", "n_head": 2, "n_layer": 2, "pad_token_id": 5,
            "reuse_len": None, "same_length": False, "start_n_top": 5, "summary_activation": "tanh",
            "summary_last_dropout": 0.1, "summary_type": "last", "summary_use_proj": True,
            "untie_r": True,
        },
        xlnet,
    ),
    "t5-small": ({"model_type": "t5", **_T5}, t5),
    "t5-v1_1-small": (
        {"model_type": "t5", **_T5, "feed_forward_proj": "gated-gelu",
         "tie_word_embeddings": False},
        t5,
    ),
    "mt5-small": (
        {"model_type": "mt5", **_T5, "feed_forward_proj": "gated-gelu",
         "tie_word_embeddings": False},
        t5,
    ),
    "umt5-small": (
        {"model_type": "umt5", **_T5, "feed_forward_proj": "gated-gelu",
         "tie_word_embeddings": False},
        t5,
    ),
    "EuroBERT-210m": (
        {
            "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 0, "eos_token_id": 1,
            "head_dim": 12, "hidden_act": "silu", "hidden_dropout": 0.0, "initializer_range": 0.02,
            "mask_token_id": 2, "max_position_embeddings": 8192, "mlp_bias": False,
            "model_type": "eurobert", "num_key_value_heads": 2, "pad_token_id": 3,
            "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": None,
            "rope_theta": 250000.0,
            "tie_word_embeddings": False, "use_cache": False, **SMALL,
        },
        llama3,
    ),
}  # fmt: skip

# classes of tokenizers, as tokenizer_config.json names them, and what it says besides
_NAMES = {
    "[PAD]": "pad_token", "<pad>": "pad_token", "<|pad|>": "pad_token",
    "[UNK]": "unk_token", "<unk>": "unk_token",
    "[CLS]": "cls_token", "<cls>": "cls_token", "[SEP]": "sep_token", "<sep>": "sep_token",
    "[MASK]": "mask_token", "<mask>": "mask_token", "<|mask|>": "mask_token",
    "<special1>": "mask_token",
}  # fmt: skip


def save(name, folder, seed=0):
    """Write an encoder with random weights, and its tokenizer, as files of it are published."""
    import torch
    from transformers import AutoConfig, AutoModel

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    said, make = PUBLISHED[name]
    tokenizer = make()
    said = {"vocab_size": tokenizer.get_vocab_size() + 3, **said}
    if "n_layers" in said and said["model_type"] in ("xlm", "flaubert"):
        said["n_words"] = said.pop("vocab_size")
    (folder / "config.json").write_text(json.dumps(said))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = AutoModel.from_config(AutoConfig.from_pretrained(folder))
        made.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(said))  # as published, not as written again
    tokenizer.save(str(folder / "tokenizer.json"))
    known = {
        _NAMES[token]: token
        for token in tokenizer.get_vocab(with_added_tokens=True)
        if token in _NAMES
    }
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **known}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder
