import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import floe.ConnectJson;
import floe.Requests;
import java.nio.charset.Charset;
import java.util.HexFormat;
import org.apache.kafka.connect.storage.Converter;

/**
 * The Java side of test_plain.py: a request a line in, an answer a line out.
 *
 * <pre>
 *   {"class": name, "options": {...}, "records": [hex, ...]} -> [{"schema", "value"} or {"error"} for each record]
 *   {"charsets": true} -> [name, ...]
 * </pre>
 */
public class PlainCheck {
  private static final ConnectJson CONNECT = new ConnectJson(false);

  public static void main(String[] args) throws Exception {
    Requests.serve(
        request -> {
          ArrayNode answer = Requests.JSON.createArrayNode();
          if (request.has("charsets")) {
            Charset.availableCharsets().keySet().forEach(answer::add);
            return answer;
          }
          Converter converter = (Converter) Class.forName(request.get("class").asText()).getConstructor().newInstance();
          converter.configure(ConnectJson.options(request.get("options")), false);
          request.get("records").forEach(record -> answer.add(read(converter, record.asText())));
          return answer;
        });
  }

  private static JsonNode read(Converter converter, String record) {
    try {
      return CONNECT.both(converter.toConnectData("topic", HexFormat.of().parseHex(record)));
    } catch (RuntimeException e) {
      return Requests.JSON.createObjectNode().put("error", String.valueOf(e));
    }
  }
}
