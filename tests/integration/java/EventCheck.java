import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.avro.generic.GenericFixed;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.PartitionData;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.connect.events.AvroUtil;
import org.apache.iceberg.connect.events.CommitComplete;
import org.apache.iceberg.connect.events.CommitToTable;
import org.apache.iceberg.connect.events.DataComplete;
import org.apache.iceberg.connect.events.DataWritten;
import org.apache.iceberg.connect.events.Event;
import org.apache.iceberg.connect.events.Payload;
import org.apache.iceberg.connect.events.StartCommit;
import org.apache.iceberg.connect.events.TableReference;
import org.apache.iceberg.connect.events.TopicPartitionOffset;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;

/**
 * The Java side of test_events.py: a request a line in, an array of answers a line out.
 *
 * <pre>
 *   {"do": "write"}                      -> {"name", "message" (base64), "facts"} for each message that the classes make
 *   {"do": "schema", "fields": [...]}    -> {"schema"}: the header of a DataWritten with that partition type
 *   {"do": "read", "message": base64}    -> {"facts"}: what the classes understood
 * </pre>
 *
 * A request that Java refuses is answered by {"error"}. Facts hold every number as text, bytes as hex, floats as their
 * bits, so that both sides can print them alike.
 */
public class EventCheck {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final UUID COMMIT = UUID.fromString("0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0");
  private static final UUID TABLE = UUID.fromString("ffeeddcc-bbaa-9988-7766-554433221100");
  private static final OffsetDateTime NOON = OffsetDateTime.parse("2024-01-02T12:00:00.123456Z");

  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      ArrayNode answers = JSON.createArrayNode();
      try {
        answers.addAll(answer(JSON.readTree(line)));
      } catch (RuntimeException e) {
        answers.addObject().put("error", e.toString());
      }
      out.println(JSON.writeValueAsString(answers));
    }
  }

  private static List<ObjectNode> answer(JsonNode request) {
    switch (request.get("do").asText()) {
      case "write":
        List<ObjectNode> answers = new ArrayList<>();
        messages().forEach((name, event) -> answers.add(written(name, event)));
        return answers;
      case "schema":
        Payload payload = new DataWritten(partitionType(request.get("fields")), COMMIT, table(TABLE), null, null);
        return List.of(JSON.createObjectNode().put("schema", new Event("g", payload).getSchema().toString()));
      case "read":
        Event event = AvroUtil.decode(Base64.getDecoder().decode(request.get("message").asText()));
        return List.of((ObjectNode) JSON.createObjectNode().set("facts", facts(event)));
      default:
        throw new IllegalArgumentException("Unknown request: " + request);
    }
  }

  private static ObjectNode written(String name, Event event) {
    byte[] message = AvroUtil.encode(event);
    ObjectNode answer = JSON.createObjectNode().put("name", name);
    answer.put("message", Base64.getEncoder().encodeToString(message));
    answer.set("facts", facts(AvroUtil.decode(message)));
    return answer;
  }

  private static Types.StructType partitionType(JsonNode fields) {
    List<NestedField> result = new ArrayList<>();
    for (JsonNode field : fields) {
      Type type = Types.fromPrimitiveString(field.get("type").asText());
      result.add(NestedField.optional(field.get("id").asInt(), field.get("name").asText(), type));
    }
    return Types.StructType.of(result);
  }

  // ---- messages made by Java ----

  private static Map<String, Event> messages() {
    Map<String, Payload> payloads = new LinkedHashMap<>();
    payloads.put("start_commit", new StartCommit(COMMIT));
    payloads.put("data_complete", new DataComplete(COMMIT, List.of(
        new TopicPartitionOffset("events", 0, 42L, NOON),
        new TopicPartitionOffset("events", 1, null, null),
        new TopicPartitionOffset("übung.😀", Integer.MAX_VALUE, Long.MAX_VALUE, NOON.truncatedTo(ChronoUnit.DAYS)))));
    payloads.put("data_complete_of_nothing", new DataComplete(COMMIT, List.of()));
    payloads.put("data_complete_null", new DataComplete(COMMIT, null));
    payloads.put("commit_to_table", new CommitToTable(COMMIT, table(TABLE), 7L, NOON));
    payloads.put("commit_to_table_nulls", new CommitToTable(COMMIT, table(null), null, null));
    payloads.put("commit_complete", new CommitComplete(COMMIT, NOON));
    payloads.put("commit_complete_null", new CommitComplete(COMMIT, null));
    payloads.putAll(dataWritten());

    Map<String, Event> events = new LinkedHashMap<>();
    payloads.forEach((name, payload) -> events.put(name, new Event("connect-events-sink", payload)));
    return events;
  }

  private static Map<String, Payload> dataWritten() {
    PartitionSpec none = PartitionSpec.unpartitioned();
    Map<String, Payload> payloads = new LinkedHashMap<>();
    payloads.put("data_written_unpartitioned", written(none, List.of(dataFile(none, 1)), List.of()));
    payloads.put("data_written_null_lists", written(none, null, null));
    payloads.put("data_written_many_files", written(none, List.of(dataFile(none, 1), dataFile(none, 2), bareFile(none)), null));
    payloads.put("data_written_deletes", written(none, List.of(dataFile(none, 1)), List.of(
        equalityDeletes(none), positionDeletes(none), deletionVector(none))));
    for (String column : new String[] {"flag", "i", "l", "f", "d", "day", "time", "ts", "tstz", "s", "u", "fix", "bin", "dec"}) {
      PartitionSpec spec = PartitionSpec.builderFor(SCHEMA).withSpecId(3).identity(column).build();
      payloads.put("data_written_identity_" + column, written(spec, List.of(dataFile(spec, 1), bareFile(spec)), null));
    }
    PartitionSpec all = PartitionSpec.builderFor(SCHEMA).withSpecId(11)
        .identity("s").identity("u").identity("dec", "dec again").identity("dec2").identity("bin")
        .bucket("u", 16).bucket("l", 8).truncate("s", 4).truncate("dec", 10, "dec-trunc").truncate("bin", 2)
        .year("day").month("tstz").hour("ts", "ts.hour").alwaysNull("i")
        .build();
    payloads.put("data_written_transforms", written(all, List.of(dataFile(all, 1), bareFile(all)), List.of(positionDeletes(all))));
    PartitionSpec odd = PartitionSpec.builderFor(SCHEMA)
        .identity("s", "1 straße.名\u0000\u001f\"\\\u007f😀").day("ts", "٣ day").identity("i", "éclair")
        .build();
    payloads.put("data_written_odd_names", written(odd, List.of(dataFile(odd, 1), bareFile(odd)), List.of()));
    return payloads;
  }

  private static final Schema SCHEMA = new Schema(
      NestedField.optional(1, "flag", Types.BooleanType.get()),
      NestedField.optional(2, "i", Types.IntegerType.get()),
      NestedField.optional(3, "l", Types.LongType.get()),
      NestedField.optional(4, "f", Types.FloatType.get()),
      NestedField.optional(5, "d", Types.DoubleType.get()),
      NestedField.optional(6, "day", Types.DateType.get()),
      NestedField.optional(7, "time", Types.TimeType.get()),
      NestedField.optional(8, "ts", Types.TimestampType.withoutZone()),
      NestedField.optional(9, "tstz", Types.TimestampType.withZone()),
      NestedField.optional(10, "s", Types.StringType.get()),
      NestedField.optional(11, "u", Types.UUIDType.get()),
      NestedField.optional(12, "fix", Types.FixedType.ofLength(5)),
      NestedField.optional(13, "bin", Types.BinaryType.get()),
      NestedField.optional(14, "dec", Types.DecimalType.of(9, 2)),
      NestedField.optional(15, "dec2", Types.DecimalType.of(38, 10)));

  private static DataWritten written(PartitionSpec spec, List<DataFile> data, List<DeleteFile> deletes) {
    return new DataWritten(spec.partitionType(), COMMIT, table(TABLE), data, deletes);
  }

  private static TableReference table(UUID uuid) {
    return TableReference.of("iceberg", TableIdentifier.of(Namespace.of("db", "nested"), "tablé"), uuid);
  }

  private static DataFile dataFile(PartitionSpec spec, int number) {
    return DataFiles.builder(spec)
        .withPath("s3://bucket/db/t/data/" + number + ".parquet").withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(4096L + number).withPartition(partition(spec, true)).withMetrics(metrics())
        .withSplitOffsets(List.of(4L, 2000L)).withSortOrder(null).withSortOrderId(0).withFirstRowId(1L << 33)
        .withEncryptionKeyMetadata(ByteBuffer.wrap(new byte[] {1, 2, 0, -1})).build();
  }

  private static DataFile bareFile(PartitionSpec spec) {
    return DataFiles.builder(spec).withPath("file:/a.avro").withFormat(FileFormat.AVRO)
        .withFileSizeInBytes(1).withRecordCount(0).withPartition(partition(spec, false)).build();
  }

  private static DeleteFile equalityDeletes(PartitionSpec spec) {
    return FileMetadata.deleteFileBuilder(spec).ofEqualityDeletes(1, 3)
        .withPath("s3://bucket/eq.parquet").withFormat(FileFormat.PARQUET).withPartition(partition(spec, true))
        .withFileSizeInBytes(99).withMetrics(metrics()).build();
  }

  private static DeleteFile positionDeletes(PartitionSpec spec) {
    return FileMetadata.deleteFileBuilder(spec).ofPositionDeletes()
        .withPath("s3://bucket/pos.orc").withFormat(FileFormat.ORC).withPartition(partition(spec, true))
        .withFileSizeInBytes(99).withRecordCount(2).withReferencedDataFile("s3://bucket/db/t/data/1.parquet").build();
  }

  private static DeleteFile deletionVector(PartitionSpec spec) {
    return FileMetadata.deleteFileBuilder(spec).ofPositionDeletes()
        .withPath("s3://bucket/dv.puffin").withFormat(FileFormat.PUFFIN).withPartition(partition(spec, true))
        .withFileSizeInBytes(99).withRecordCount(2).withReferencedDataFile("s3://bucket/db/t/data/1.parquet")
        .withContentOffset(4).withContentSizeInBytes(40).build();
  }

  private static Metrics metrics() {
    Map<Integer, Long> counts = new LinkedHashMap<>();
    counts.put(2, 100L);
    counts.put(1, 100L);
    counts.put(Integer.MAX_VALUE, Long.MAX_VALUE);
    Map<Integer, ByteBuffer> lower = new LinkedHashMap<>();
    lower.put(1, ByteBuffer.wrap(new byte[0]));
    lower.put(2, ByteBuffer.wrap(new byte[] {0, 1, -128}));
    return new Metrics(100L, counts, counts, Map.of(1, 0L), Map.of(), lower, lower);
  }

  /** Values of a spec's fields as the sink holds them; all null on demand. */
  private static PartitionData partition(PartitionSpec spec, boolean filled) {
    PartitionData data = new PartitionData(spec.partitionType());
    List<NestedField> fields = spec.partitionType().fields();
    for (int i = 0; filled && i < fields.size(); i++) {
      data.set(i, spec.fields().get(i).transform().isVoid() ? null : value(fields.get(i).type()));
    }
    return data;
  }

  private static Object value(Type type) {
    switch (type.typeId()) {
      case BOOLEAN: return true;
      case INTEGER: return Integer.MIN_VALUE;
      case DATE: return -19_000;
      case LONG: return Long.MIN_VALUE;
      case TIME: return 86_399_999_999L;
      case TIMESTAMP: return 1_704_196_800_123_456L;
      case FLOAT: return 1.1f;
      case DOUBLE: return -1.1d;
      case STRING: return "stra\u00dfe 😀";
      case UUID: return TABLE;
      case BINARY: return ByteBuffer.wrap(new byte[] {0, -1, 7});
      case DECIMAL: return new BigDecimal("-1234567.89").setScale(((Types.DecimalType) type).scale());
      case FIXED: return null; // these classes read fixed partition values but fail to write one
      default: throw new IllegalArgumentException("No value for " + type);
    }
  }

  // ---- facts ----

  private static ObjectNode facts(Event event) {
    ObjectNode facts = JSON.createObjectNode();
    put(facts, "id", event.id());
    put(facts, "type", event.type().id());
    put(facts, "timestamp", micros(event.timestamp()));
    put(facts, "group_id", event.groupId());
    ObjectNode payload = facts.putObject("payload");
    payload.put("class", event.payload().getClass().getSimpleName());
    if (event.payload() instanceof StartCommit) {
      put(payload, "commit_id", ((StartCommit) event.payload()).commitId());
    } else if (event.payload() instanceof DataComplete) {
      DataComplete complete = (DataComplete) event.payload();
      put(payload, "commit_id", complete.commitId());
      payload.set("assignments", assignments(complete.assignments()));
    } else if (event.payload() instanceof CommitToTable) {
      CommitToTable commit = (CommitToTable) event.payload();
      put(payload, "commit_id", commit.commitId());
      payload.set("table_reference", reference(commit.tableReference()));
      put(payload, "snapshot_id", commit.snapshotId());
      put(payload, "valid_through_ts", micros(commit.validThroughTs()));
    } else if (event.payload() instanceof CommitComplete) {
      CommitComplete complete = (CommitComplete) event.payload();
      put(payload, "commit_id", complete.commitId());
      put(payload, "valid_through_ts", micros(complete.validThroughTs()));
    } else {
      DataWritten written = (DataWritten) event.payload();
      put(payload, "commit_id", written.commitId());
      payload.set("table_reference", reference(written.tableReference()));
      payload.set("data_files", files(written.dataFiles()));
      payload.set("delete_files", files(written.deleteFiles()));
    }
    return facts;
  }

  private static ArrayNode assignments(List<TopicPartitionOffset> assignments) {
    if (assignments == null) {
      return null;
    }
    ArrayNode result = JSON.createArrayNode();
    for (TopicPartitionOffset assignment : assignments) {
      ObjectNode node = result.addObject();
      put(node, "topic", assignment.topic());
      put(node, "partition", assignment.partition());
      put(node, "offset", assignment.offset());
      put(node, "timestamp", micros(assignment.timestamp()));
    }
    return result;
  }

  private static ObjectNode reference(TableReference reference) {
    ObjectNode node = JSON.createObjectNode();
    put(node, "catalog", reference.catalog());
    ArrayNode namespace = node.putArray("namespace");
    for (String level : reference.identifier().namespace().levels()) {
      namespace.add(level);
    }
    put(node, "name", reference.identifier().name());
    put(node, "table_uuid", reference.uuid());
    return node;
  }

  private static ArrayNode files(List<? extends ContentFile<?>> files) {
    if (files == null) {
      return null;
    }
    ArrayNode result = JSON.createArrayNode();
    for (ContentFile<?> file : files) {
      ObjectNode node = result.addObject();
      put(node, "content", file.content().id());
      put(node, "file_path", file.location());
      put(node, "file_format", file.format());
      put(node, "spec_id", file.specId());
      ArrayNode partition = node.putArray("partition");
      for (int i = 0; i < file.partition().size(); i++) {
        partition.add(text(file.partition().get(i, Object.class)));
      }
      put(node, "record_count", file.recordCount());
      put(node, "file_size_in_bytes", file.fileSizeInBytes());
      node.set("column_sizes", map(file.columnSizes()));
      node.set("value_counts", map(file.valueCounts()));
      node.set("null_value_counts", map(file.nullValueCounts()));
      node.set("nan_value_counts", map(file.nanValueCounts()));
      node.set("lower_bounds", map(file.lowerBounds()));
      node.set("upper_bounds", map(file.upperBounds()));
      put(node, "key_metadata", file.keyMetadata());
      node.set("split_offsets", list(file.splitOffsets()));
      node.set("equality_ids", list(file.equalityFieldIds()));
      put(node, "sort_order_id", file.sortOrderId());
      put(node, "first_row_id", file.firstRowId());
      DeleteFile delete = file instanceof DeleteFile ? (DeleteFile) file : null;
      put(node, "referenced_data_file", delete == null ? null : delete.referencedDataFile());
      put(node, "content_offset", delete == null ? null : delete.contentOffset());
      put(node, "content_size_in_bytes", delete == null ? null : delete.contentSizeInBytes());
    }
    return result;
  }

  private static ObjectNode map(Map<Integer, ?> map) {
    if (map == null) {
      return null;
    }
    ObjectNode node = JSON.createObjectNode();
    map.forEach((key, value) -> put(node, key.toString(), value));
    return node;
  }

  private static ArrayNode list(List<?> list) {
    if (list == null) {
      return null;
    }
    ArrayNode node = JSON.createArrayNode();
    list.forEach(value -> node.add(text(value)));
    return node;
  }

  private static void put(ObjectNode node, String name, Object value) {
    node.put(name, text(value));
  }

  private static Long micros(OffsetDateTime time) {
    return time == null ? null : ChronoUnit.MICROS.between(OffsetDateTime.parse("1970-01-01T00:00:00Z"), time);
  }

  private static String text(Object value) {
    if (value == null) {
      return null;
    } else if (value instanceof ByteBuffer) {
      ByteBuffer copy = ((ByteBuffer) value).duplicate();
      byte[] bytes = new byte[copy.remaining()];
      copy.get(bytes);
      return HexFormat.of().formatHex(bytes);
    } else if (value instanceof GenericFixed) {
      return HexFormat.of().formatHex(((GenericFixed) value).bytes());
    } else if (value instanceof Float) {
      return Integer.toHexString(Float.floatToIntBits((Float) value));
    } else if (value instanceof Double) {
      return Long.toHexString(Double.doubleToLongBits((Double) value));
    } else if (value instanceof BigDecimal) {
      return ((BigDecimal) value).toPlainString();
    }
    return value.toString();
  }
}
