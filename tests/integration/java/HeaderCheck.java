import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.TimeZone;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Values;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.transforms.InsertHeader;

/**
 * The Java side of test_header_texts.py: a request a line in, an answer a line out.
 *
 * <pre>
 *   {"literal": text}                   -> {"bytes": base64 or null, "inserted": base64 or null}: of the literal, and of the
 *                                          header that InsertHeader adds, whose configuration trims it
 *   {"json": text, "schemas": boolean}  -> {"bytes": base64 or null}: of a header with the value that JsonConverter reads
 *   either                              -> {"error": text}
 * </pre>
 */
public class HeaderCheck {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final SimpleHeaderConverter HEADERS = new SimpleHeaderConverter();

  public static void main(String[] args) throws IOException {
    Locale.setDefault(Locale.US);
    TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode request = JSON.readTree(line);
      ObjectNode answer = JSON.createObjectNode();
      try {
        if (request.has("literal")) {
          String literal = request.get("literal").asText();
          answer.put("bytes", bytes(new ConnectHeaders().add("h", Values.parseString(literal)).lastWithName("h")));
          answer.put("inserted", bytes(inserted(literal)));
        } else {
          answer.put("bytes", bytes(read(request)));
        }
      } catch (RuntimeException error) {
        answer.put("error", error.toString());
      }
      out.println(JSON.writeValueAsString(answer));
    }
  }

  private static byte[] bytes(Header header) {
    return HEADERS.fromConnectHeader("topic", "h", header.schema(), header.value());
  }

  private static Header inserted(String literal) {
    try (InsertHeader<SinkRecord> transform = new InsertHeader<>()) {
      transform.configure(Map.of("header", "h", "value.literal", literal));
      SinkRecord record = transform.apply(new SinkRecord("topic", 0, null, null, null, null, 0));
      return record.headers().lastWithName("h");
    }
  }

  private static Header read(JsonNode request) {
    try (JsonConverter converter = new JsonConverter()) {
      converter.configure(Map.of("schemas.enable", request.get("schemas").asBoolean()), false);
      SchemaAndValue value = converter.toConnectData("topic", request.get("json").asText().getBytes(StandardCharsets.UTF_8));
      Headers headers = new ConnectHeaders().add("h", value.value(), value.schema());
      return headers.lastWithName("h");
    }
  }
}
