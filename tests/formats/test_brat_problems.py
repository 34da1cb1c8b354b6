"""What is told of lines of brat files that cannot be read."""

from spanloom.formats.brat.read import loads


def test_a_line_that_refers_to_an_unreadable_one_says_so():
    ann = "T1\tPER 0 x\tAda\nT2\tPER 0 3\tAda\nR1\tmet Arg1:T1 Arg2:T2\nR2\tmet Arg1:T9 Arg2:T2\n"
    problems = [str(problem) for problem in loads("Ada", ann, name="a").problems]
    assert "a.ann:3: refers to 'T1', whose line is unreadable; not read" in problems
    assert "a.ann:4: refers to 'T9', which is not there; not read" in problems


def test_the_offset_outside_the_text_is_told():
    (problem,) = loads("Ada", "T1\tPER 1 17\tda\n", name="a").problems
    assert problem.message == "the offset 17 is outside the text of 3 characters"
