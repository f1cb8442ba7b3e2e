import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.Locale;
import java.util.TimeZone;

/**
 * The Java side of test_dates.py: a request a line in, an answer a line out. Each text gets a format of its own, as a zone's
 * name stays in force in the one that has read it.
 *
 * <pre>
 *   {"pattern": text, "instants": [millis], "texts": [text]} -> {"formats": [text], "parses": [millis or null]}, or {"error"}
 * </pre>
 */
public class DateCheck {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws IOException {
    Locale.setDefault(Locale.US);
    TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
    }
  }

  private static ObjectNode answer(JsonNode request) {
    ObjectNode answer = JSON.createObjectNode();
    String pattern = request.get("pattern").asText();
    SimpleDateFormat format;
    try {
      format = format(pattern);
    } catch (IllegalArgumentException error) {
      return answer.put("error", error.getMessage());
    }
    ArrayNode formats = answer.putArray("formats");
    for (JsonNode instant : request.get("instants")) {
      formats.add(format.format(new Date(instant.asLong())));
    }
    ArrayNode parses = answer.putArray("parses");
    for (JsonNode text : request.get("texts")) {
      try {
        parses.add(format(pattern).parse(text.asText()).getTime());
      } catch (ParseException error) {
        parses.addNull();
      }
    }
    return answer;
  }

  private static SimpleDateFormat format(String pattern) {
    SimpleDateFormat format = new SimpleDateFormat(pattern);
    format.setTimeZone(TimeZone.getTimeZone("UTC"));
    return format;
  }
}
