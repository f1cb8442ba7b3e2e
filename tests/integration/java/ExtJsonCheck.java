import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.apicurio.registry.utils.converter.ExtJsonConverter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * The Java side of test_ext_json.py: a request a line in, an answer a line out; the argument is the registry's address.
 *
 * <pre>
 *   {"topic": name, "envelope": hex} -> {"record": hex}, the same value as ExtJsonConverter writes it, or {"error"}
 * </pre>
 */
public class ExtJsonCheck {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws IOException {
    JsonConverter envelopes = new JsonConverter();
    envelopes.configure(Map.of("schemas.enable", "true"), false);
    ExtJsonConverter written = new ExtJsonConverter();
    written.configure(
        new HashMap<>(Map.of("apicurio.registry.url", args[0], "apicurio.registry.auto-register", "true")), false);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode request = JSON.readTree(line);
      String topic = request.get("topic").asText();
      ObjectNode answer = JSON.createObjectNode();
      try {
        byte[] envelope = HexFormat.of().parseHex(request.get("envelope").asText());
        SchemaAndValue value = envelopes.toConnectData(topic, envelope);
        byte[] record = written.fromConnectData(topic, value.schema(), value.value());
        SchemaAndValue again = written.toConnectData(topic, record);
        if (!value.value().equals(again.value())) {
          throw new IllegalStateException("it reads " + again.value() + " and not " + value.value());
        }
        answer.put("record", HexFormat.of().formatHex(record));
      } catch (RuntimeException e) {
        answer.put("error", String.valueOf(e));
      }
      out.println(answer);
    }
  }
}
