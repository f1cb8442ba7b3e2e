import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * The Java side of test_envelopes.py: a request a line in, an answer a line out.
 *
 * <pre>
 *   {"options": {...}, "records": [hex, ...]} -> [{"schema", "value"} or {"error"} for each record]
 * </pre>
 *
 * Values hold numbers as text, bytes as hex, floats as their bits, so that both sides can print them alike. Fields are as the
 * converter left them: Struct.get would fill in defaults whatever its options say.
 */
public class EnvelopeCheck {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws IOException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode request = JSON.readTree(line);
      Map<String, Object> options = new HashMap<>();
      request.get("options").fields().forEachRemaining(e -> options.put(e.getKey(), e.getValue().asText()));
      JsonConverter converter = new JsonConverter();
      converter.configure(options, false);
      ArrayNode answer = JSON.createArrayNode();
      for (JsonNode record : request.get("records")) {
        answer.add(read(converter, HexFormat.of().parseHex(record.asText())));
      }
      out.println(answer);
    }
  }

  private static ObjectNode read(JsonConverter converter, byte[] record) {
    ObjectNode found = JSON.createObjectNode();
    try {
      SchemaAndValue made = converter.toConnectData("topic", record);
      if (made.schema() == null) {
        found.put("schemaless", true);
      } else {
        found.set("schema", schema(made.schema()));
        found.set("value", value(made.schema(), made.value()));
      }
    } catch (Exception | StackOverflowError e) {
      found.removeAll();
      found.put("error", String.valueOf(e));
    }
    return found;
  }

  private static ObjectNode schema(Schema schema) {
    ObjectNode found = JSON.createObjectNode();
    found.put("type", schema.type().getName());
    found.put("optional", schema.isOptional());
    found.put("name", schema.name());
    found.put("version", schema.version());
    ObjectNode parameters = found.putObject("parameters");
    Map<String, String> given = schema.parameters() == null ? Map.of() : schema.parameters();
    new TreeMap<>(given).forEach(parameters::put);
    if (schema.defaultValue() != null) {
      found.set("default", value(schema, schema.defaultValue()));
    }
    if (schema.type() == Schema.Type.STRUCT) {
      ArrayNode fields = found.putArray("fields");
      for (Field field : schema.fields()) {
        fields.addArray().add(field.name()).add(schema(field.schema()));
      }
    }
    if (schema.type() == Schema.Type.MAP) {
      found.set("key", schema(schema.keySchema()));
    }
    if (schema.type() == Schema.Type.MAP || schema.type() == Schema.Type.ARRAY) {
      found.set("element", schema(schema.valueSchema()));
    }
    return found;
  }

  private static JsonNode value(Schema schema, Object value) {
    if (value instanceof List) {
      ArrayNode found = JSON.createArrayNode();
      ((List<?>) value).forEach(one -> found.add(value(schema.valueSchema(), one)));
      return found;
    }
    if (value instanceof Struct) {
      ObjectNode found = JSON.createObjectNode();
      Struct struct = (Struct) value;
      struct.schema().fields().forEach(f -> found.set(f.name(), value(f.schema(), struct.getWithoutDefault(f.name()))));
      return found;
    }
    if (value instanceof Map) {
      TreeSet<String> entries = new TreeSet<>();
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
        JsonNode key = value(schema.keySchema(), entry.getKey());
        entries.add(key + ":" + value(schema.valueSchema(), entry.getValue()));
      }
      return JSON.valueToTree(entries);
    }
    return JSON.getNodeFactory().textNode(text(schema, value));
  }

  private static String text(Schema schema, Object value) {
    if (value instanceof java.util.Date) {
      return "ms " + ((java.util.Date) value).getTime();
    }
    if (value instanceof BigDecimal) {
      int scale = Integer.parseInt(schema.parameters().get("scale"));
      BigDecimal decimal = (BigDecimal) value;
      return decimal.stripTrailingZeros().scale() <= scale
          ? decimal.setScale(scale, RoundingMode.UNNECESSARY).toString()
          : decimal.toString();
    }
    if (value instanceof byte[]) {
      return HexFormat.of().formatHex((byte[]) value);
    }
    if (value instanceof Float) {
      return String.format("%08x", Float.floatToRawIntBits((Float) value));
    }
    if (value instanceof Double) {
      return String.format("%016x", Double.doubleToRawLongBits((Double) value));
    }
    if (value instanceof String) {
      return HexFormat.of().formatHex(((String) value).getBytes(StandardCharsets.UTF_8));
    }
    return String.valueOf(value);
  }
}
