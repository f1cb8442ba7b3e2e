import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * The Java side of test_regex.py: a request a line in, an answer a line out.
 *
 * <pre>
 *   {"pattern": text, "values": [text]} -> {"matches": [boolean]}, of whole values as Kafka Connect matches topics, or {"error"}
 * </pre>
 */
public class RegexCheck {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws IOException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode request = JSON.readTree(line);
      ObjectNode answer = JSON.createObjectNode();
      try {
        Pattern pattern = Pattern.compile(request.get("pattern").asText());
        ArrayNode matches = answer.putArray("matches");
        for (JsonNode value : request.get("values")) {
          matches.add(pattern.matcher(value.asText()).matches());
        }
      } catch (PatternSyntaxException error) {
        answer.removeAll();
        answer.put("error", error.getDescription());
      }
      out.println(JSON.writeValueAsString(answer));
    }
  }
}
