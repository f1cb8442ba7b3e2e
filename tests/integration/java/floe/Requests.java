package floe;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** A request a line in, an answer a line out, both JSON. */
public class Requests {
  public static final ObjectMapper JSON = new ObjectMapper();

  private Requests() {}

  /** Answers requests. */
  public interface Program {
    JsonNode answer(JsonNode request) throws Exception;
  }

  public static void serve(Program program) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(program.answer(JSON.readTree(line)));
    }
  }
}
