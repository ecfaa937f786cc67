/** Names that the engine has seen: to be offered where one is asked for. */
import { useSession } from "./session";
import { useAnswer } from "./answer";

export interface Seen {
  readonly keys: readonly string[];
  readonly connections: readonly string[];
}

const none: Seen = { keys: [], connections: [] };

/** Keys and connections by name, asked for once. Nothing fails without them: a name can be typed. */
export function useSeen(): Seen {
  const { api } = useSession();
  const { answer } = useAnswer(async () => {
    const [keys, connections] = await Promise.all([api.log.keys(), api.log.connections()]);
    return { keys: keys.map((key) => key.apiKeyId), connections: connections.map((connection) => connection.connectionId) };
  }, "");
  return answer ?? none;
}
