"""Which logs the brokers are asked about, to find out whether they were cut."""

from floe.kafka.settings import KafkaSettings
from floe.kafka.truncation import divergences
from floe.model.offsets import PartitionLog, TopicPartition
from floe.model.positions import LeaderEpoch

P0 = TopicPartition("pizzas", 0)


def found(log: PartitionLog, epoch: LeaderEpoch) -> dict[TopicPartition, int]:
    """Look for a divergence with settings of no broker: whoever asks one fails."""
    return divergences(KafkaSettings(source={}, control={}, origin="the test"), [log], {P0: epoch})


def test_log_of_which_retention_removed_all_that_was_planned_is_not_asked_about() -> None:
    """An offset below the log start is out of range, as one above the log end is, and nothing below it can be read."""
    assert found(PartitionLog(P0, "T1", 120, 200, 5), LeaderEpoch(3, 120)) == {}
    assert found(PartitionLog(P0, "T1", 150, 200, 5), LeaderEpoch(3, 120)) == {}


def test_log_of_the_same_or_no_leader_epoch_is_not_asked_about() -> None:
    assert found(PartitionLog(P0, "T1", 0, 200, 3), LeaderEpoch(3, 120)) == {}
    assert found(PartitionLog(P0, "T1", 0, 200, None), LeaderEpoch(3, 120)) == {}


def test_log_whose_leader_epoch_went_back_diverges_from_its_start_on() -> None:
    assert found(PartitionLog(P0, "T1", 7, 200, 2), LeaderEpoch(3, 120)) == {P0: 7}
    assert found(PartitionLog(P0, "T1", 150, 200, 2), LeaderEpoch(3, 120)) == {P0: 150}
