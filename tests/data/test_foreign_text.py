"""Texts in languages that an encoder hardly knows, on made data."""

import pytest
from tokenizers import Tokenizer, models

from spanloom.data.foreign_text import _TYPICAL, KnownLanguage, script_of
from spanloom.data.instances import tokenize
from spanloom.data.subwords import subword_tokenizer
from spanloom.document import Document
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("char-class", "newline")
ENGLISH = "The dog sleeps in the garden and a cat is on the roof of the house for it is warm . "
TEXTS = {
    "German": "Der Hund schläft im Garten und eine Katze sitzt auf dem warmen Dach . ",
    "Russian": "Собака спит в саду , а кошка сидит на крыше . ",
    "Arabic": "الكلب ينام في الحديقة والقطة تجلس على السطح . ",
    "Japanese": "犬は庭で寝ていて、猫は屋根の上に座っている。",
}
SCRIPT = {"Russian": "Cyrillic", "Arabic": "Arabic", "Japanese": "Hiragana"}


def pieces_of(*texts):
    """A tokenizer whose vocabulary has the words of some texts."""
    words = {word for text in texts for word in words_of(text)}
    rows = {word: row for row, word in enumerate(["[PAD]", "[UNK]", *sorted(words)])}
    made = Tokenizer(models.WordLevel(rows, unk_token="[UNK]"))
    return subword_tokenizer(made, padding=0, unknown=1, mask=1)


def words_of(text):
    return [text[start:end] for start, end in SPLIT(text).words]


def warning(text, *learnt):
    pieces = pieces_of(*learnt)
    return KnownLanguage.of(pieces).warning([tokenize(Document(text), SPLIT, pieces)])


ENGLISH_ENCODER = ENGLISH, " ".join(_TYPICAL)


@pytest.mark.parametrize("language", SCRIPT)
def test_other_letters_are_named_with_the_share_of_unknown_pieces(language):
    line = warning(TEXTS[language], *ENGLISH_ENCODER)
    assert line.startswith("100 % of the letters are of scripts that the encoder hardly knows")
    assert f"({SCRIPT[language]}), 100 % of the words have unknown pieces" in line
    assert warning(TEXTS[language], *ENGLISH_ENCODER, TEXTS[language]) is None


def test_german_is_told_from_english_by_its_words_once_there_are_some():
    german = OTHERS["German"]
    assert "does not look English" in warning(german, *ENGLISH_ENCODER)
    assert warning(TEXTS["German"], *ENGLISH_ENCODER) is None  # too short to tell
    assert warning(TEXTS["German"] * 5, *ENGLISH_ENCODER) is None  # says no more than once
    assert warning(german, german) is None  # an encoder for German
    assert warning(german, *ENGLISH_ENCODER, TEXTS["Russian"]) is None  # for many


@pytest.mark.parametrize("text", [ENGLISH * 5, "", "1 2 3 . " * 30, "α β", "Die α-Helix ."])
def test_english_numbers_and_short_texts_are_no_reason(text):
    assert warning(text, *ENGLISH_ENCODER) is None


def test_scripts_are_those_of_unicode():
    assert [script_of(letter) for letter in "aжعの犬"] == [
        "LATIN",
        "CYRILLIC",
        "ARABIC",
        "HIRAGANA",
        "CJK",
    ]


GENRES = {
    "review": "I love my new phone! Battery lasts two days, screen looks gorgeous, camera takes "
    "great pictures even at night. My old one died last week. She bought me this model from a "
    "local shop. Not cheap, but totally worth it. Highly recommended to anyone who wants good "
    "value, fast charging and no nonsense software.",
    "short sentences": "Ada Lovelace met Charles Babbage in London. Marie Curie lived in Paris. "
    * 5,
    "names": "Ada Lovelace wrote the first program in London . Marie Curie won two Nobel Prizes . "
    * 5,
    "news": "Shares in Tokyo fell on Monday after Toyota said it had cut output at plants in Japan "
    "and China. Analysts at Nomura blamed weak demand, rising costs and strikes. The Nikkei lost "
    "two percent by noon, its worst day since March. Traders who had bought early were selling.",
    "protocol": "Add 5 ml buffer to each tube and mix gently. Incubate at 37 degrees for ten "
    "minutes. Remove the supernatant. Wash pellet twice with cold ethanol, then dry. Resuspend in "
    "water. Store at 4 degrees. Measure absorbance on a spectrometer before loading the gel. Load "
    "ten samples per lane and run for one hour.",
    "tweets": "omg i cant believe she said that lol . my phone died at work again . who is going "
    "to the game tonight ?? not me , i have no money . good morning everyone ! when you are late "
    "but they dont care . love this song so much . what a day",
}
OTHERS = {
    "German": "Die Regierung in Berlin will das Gesetz noch in diesem Jahr durch den Bundestag "
    "bringen. Der Minister sagte am Montag, man habe sich mit den Ländern auf einen Kompromiss "
    "geeinigt. Die Opposition war damit nicht zufrieden und will im Herbst einen eigenen Entwurf "
    "vorlegen, so ein Sprecher. Er hat an der Sitzung in Bonn nicht teilgenommen.",
    "French": "Le gouvernement a annoncé lundi une réforme des retraites qui doit entrer en "
    "vigueur dans deux ans. On ne sait pas si les syndicats vont appeler à la grève. Je "
    "pense que tu as raison, mais il me faut plus de temps pour y réfléchir. "
    "Elle est partie à Lyon avec son frère "
    "et ils ont visité le musée des beaux arts.",
    "Finnish": "Hallitus aikoo esittää uutta lakia ensi vuonna. Ministeri sanoi maanantaina, että "
    "neuvottelut ovat edenneet hyvin. He eivät kuitenkaan ole vielä päättäneet, milloin laki tulee "
    "voimaan. Minä olen sitä mieltä, että se on hyvä asia. On mahdollista, että me menemme "
    "huomenna Helsinkiin ja tapaamme siellä ystäviä, jos sää on kaunis "
    "ja junat kulkevat aikataulussa.",
    "Spanish": "El gobierno anunció el lunes una reforma que me parece necesaria. No sé si he "
    "entendido bien, pero la oposición no está de acuerdo y ha pedido más tiempo para que se "
    "debata en el congreso. Mi hermana vive en Madrid y yo en Sevilla con mis padres y dos gatos.",
    "Dutch": "De regering in Den Haag wil de wet nog dit jaar invoeren. Het is niet zeker of we op "
    "tijd klaar zijn. Hij is bij zijn zus in Utrecht en ze gaan morgen met de trein naar zee, want "
    "het weer was goed en de kinderen hebben vakantie tot september van dit jaar.",
}


@pytest.mark.parametrize("genre", GENRES)
def test_english_of_any_genre_is_known(genre):
    assert warning(GENRES[genre], *ENGLISH_ENCODER) is None


@pytest.mark.parametrize("language", OTHERS)
def test_prose_of_other_latin_languages_is_told(language):
    assert "does not look English" in warning(OTHERS[language], *ENGLISH_ENCODER)
