import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import floe.ConnectJson;
import floe.Requests;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * The Java side of test_transforms.py: a request a line in, an answer a line out.
 *
 * <pre>
 *   {"transforms": [{"type", "options": {...}, "predicate": {"type", "options": {...}} or null, "negate": boolean}, ...],
 *    "key": {"class", "options": {...}}, "value": {"class", "options": {...}}, "fills_defaults": boolean,
 *    "records": [{"topic", "partition", "offset", "timestamp" (epoch ms or null), "key": hex or null, "value": hex or null,
 *                 "headers": [[name, hex or null], ...]}, ...]}
 *   -> {"config_error"}, or [{"converter_error"}, {"refused", "at"}, {"filtered"} or the record, for each]
 *   the record: {"topic", "timestamp", "key": {...}, "value": {...}, "is_own_key", "headers": [[name, hex or null, own], ...]}
 * </pre>
 *
 * Keys and values are {"schema", "value"}, or {"tree"} where there is no schema. "at" and "filtered" are the index of the
 * transform. "is_own_key": no transform made another one, or an equal one; "own": the index of the header in the request, or null for a new
 * one. A header is as SimpleHeaderConverter writes it.
 */
public class TransformCheck {
  private static final HexFormat HEX = HexFormat.of();

  private final ConnectJson json;
  private final Converter keys;
  private final Converter values;
  private final SimpleHeaderConverter headers = new SimpleHeaderConverter();
  private final List<Stage> chain = new ArrayList<>();

  public static void main(String[] args) throws Exception {
    Requests.serve(TransformCheck::answer);
  }

  private static JsonNode answer(JsonNode request) throws Exception {
    TransformCheck check = new TransformCheck(request);
    try {
      request.get("transforms").forEach(check::add);
    } catch (RuntimeException e) {
      return Requests.JSON.createObjectNode().put("config_error", String.valueOf(e));
    }
    ArrayNode answer = Requests.JSON.createArrayNode();
    request.get("records").forEach(record -> answer.add(check.transformed(record)));
    for (Stage stage : check.chain) {
      stage.transform.close();
    }
    return answer;
  }

  private TransformCheck(JsonNode request) throws Exception {
    json = new ConnectJson(request.path("fills_defaults").asBoolean(false));
    keys = converter(request.get("key"), true);
    values = converter(request.get("value"), false);
    headers.configure(Map.of());
  }

  private static Converter converter(JsonNode given, boolean isKey) throws Exception {
    Converter made = (Converter) Class.forName(given.get("class").asText()).getConstructor().newInstance();
    made.configure(ConnectJson.options(given.get("options")), isKey);
    return made;
  }

  /** A transform of the chain; predicate: null for one that sees every record. */
  private static class Stage {
    private Transformation<SinkRecord> transform;
    private Predicate<SinkRecord> predicate;
    private boolean negate;

    private SinkRecord apply(SinkRecord record) {
      return predicate == null || predicate.test(record) != negate ? transform.apply(record) : record;
    }
  }

  private void add(JsonNode given) {
    Stage stage = new Stage();
    stage.transform = made(given);
    stage.transform.configure(ConnectJson.options(given.get("options")));
    if (given.hasNonNull("predicate")) {
      JsonNode predicate = given.get("predicate");
      stage.predicate = made(predicate);
      stage.predicate.configure(ConnectJson.options(predicate.get("options")));
      stage.negate = given.path("negate").asBoolean(false);
    }
    chain.add(stage);
  }

  @SuppressWarnings("unchecked")
  private static <T> T made(JsonNode given) {
    String name = given.get("type").asText();
    try {
      return (T) Class.forName(name).getConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("no such class: " + name, e);
    }
  }

  private ObjectNode transformed(JsonNode given) {
    ObjectNode answer = Requests.JSON.createObjectNode();
    SinkRecord read;
    try {
      read = read(given);
    } catch (Exception | StackOverflowError e) {
      return answer.put("converter_error", String.valueOf(e));
    }
    Map<Header, Integer> ownHeaders = new IdentityHashMap<>();
    read.headers().forEach(header -> ownHeaders.put(header, ownHeaders.size()));
    SinkRecord record = read;
    for (int at = 0; at < chain.size(); at++) {
      try {
        record = chain.get(at).apply(record);
      } catch (Exception | StackOverflowError e) {
        return answer.put("refused", String.valueOf(e)).put("at", at);
      }
      if (record == null) {
        return answer.put("filtered", at);
      }
    }
    answer.put("topic", record.topic());
    answer.put("timestamp", record.timestamp());
    answer.set("key", json.either(new SchemaAndValue(record.keySchema(), record.key())));
    answer.set("value", json.either(new SchemaAndValue(record.valueSchema(), record.value())));
    answer.put("is_own_key", isOwnKey(read, record));
    ArrayNode written = answer.putArray("headers");
    for (Header header : record.headers()) {
      byte[] text = headers.fromConnectHeader(record.topic(), header.key(), header.schema(), header.value());
      written.addArray().add(header.key()).add(text == null ? null : HEX.formatHex(text)).add(ownHeaders.get(header));
    }
    return answer;
  }

  private static boolean isOwnKey(SinkRecord read, SinkRecord record) {
    return Objects.deepEquals(record.key(), read.key()) && Objects.equals(record.keySchema(), read.keySchema());
  }

  private SinkRecord read(JsonNode given) {
    String topic = given.get("topic").asText();
    SchemaAndValue key = keys.toConnectData(topic, bytes(given.get("key")));
    SchemaAndValue value = values.toConnectData(topic, bytes(given.get("value")));
    ConnectHeaders read = new ConnectHeaders();
    given.get("headers").forEach(
        one -> read.add(one.get(0).asText(), headers.toConnectHeader(topic, one.get(0).asText(), bytes(one.get(1)))));
    Long timestamp = given.hasNonNull("timestamp") ? given.get("timestamp").asLong() : null;
    TimestampType type = timestamp == null ? TimestampType.NO_TIMESTAMP_TYPE : TimestampType.CREATE_TIME;
    return new SinkRecord(
        topic, given.get("partition").asInt(), key.schema(), key.value(), value.schema(), value.value(),
        given.get("offset").asLong(), timestamp, type, read);
  }

  private static byte[] bytes(JsonNode given) {
    return given.isNull() ? null : HEX.parseHex(given.asText());
  }
}
