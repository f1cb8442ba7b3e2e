import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import floe.ConnectJson;
import floe.Requests;
import java.util.HexFormat;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * The Java side of test_envelopes.py: a request a line in, an answer a line out.
 *
 * <pre>
 *   {"options": {...}, "records": [hex, ...]} -> [{"schema", "value"} or {"error"} for each record]
 * </pre>
 *
 * Fields are as the converter left them: Struct.get would fill in defaults whatever its options say.
 */
public class EnvelopeCheck {
  private static final ConnectJson CONNECT = new ConnectJson(false);

  public static void main(String[] args) throws Exception {
    Requests.serve(
        request -> {
          JsonConverter converter = new JsonConverter();
          converter.configure(ConnectJson.options(request.get("options")), false);
          ArrayNode answer = Requests.JSON.createArrayNode();
          request.get("records").forEach(record -> answer.add(read(converter, record.asText())));
          return answer;
        });
  }

  private static JsonNode read(JsonConverter converter, String record) {
    try {
      return CONNECT.both(converter.toConnectData("topic", HexFormat.of().parseHex(record)));
    } catch (Exception | StackOverflowError e) {
      return Requests.JSON.createObjectNode().put("error", String.valueOf(e));
    }
  }
}
