"""What names runs, tasks and groups of runs."""

from __future__ import annotations

from pytest_sopbench._core.model.task import GroupKey, TaskKey, TaskName, domain_of


def test_the_one_group_of_a_domain_is_called_as_the_domain() -> None:
    group = GroupKey("lab", "mypkg:a")

    assert "lab" == group.title({group, GroupKey("clinic", "mypkg:b")})


def test_each_of_several_groups_of_a_domain_names_its_agent() -> None:
    group = GroupKey("lab", "mypkg:a")

    assert "lab (mypkg:a)" == group.title({group, GroupKey("lab", "mypkg:b")})


def test_the_title_of_a_group_tells_its_domain() -> None:
    groups = {GroupKey("lab", "mypkg:a"), GroupKey("lab", "b (c)"), GroupKey("clinic", "mypkg:a")}

    assert {(one, one.domain) for one in groups} == {
        (one, domain_of(one.title(groups))) for one in groups
    }


def test_a_task_is_written_behind_its_domain() -> None:
    assert "lab/T_01" == str(TaskName("lab", "T_01"))


def test_a_task_is_of_a_domain_and_an_agent() -> None:
    assert TaskKey("lab", "T_01").is_of("lab", "")
    assert not TaskKey("lab", "T_01", "a").is_of("lab", "")
