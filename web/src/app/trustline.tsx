import { useSession } from "../state/session";
import { href } from "./route";
import { freshness, lag, refused } from "./trust";

/** The line that stands on every page: how fresh its numbers are, and what they leave out. */
export function TrustLine() {
  const { store } = useSession();
  const known = { link: store.link.value, engine: store.engine.value, heardAt: store.heardAt.value, now: store.now.value };
  const fresh = freshness(known);
  const behind = lag(known.engine);
  const lost = refused(known.engine);
  return (
    <div class="trust" role="status" aria-label="How far the numbers can be trusted">
      <span class={`trust-item trust-link ${fresh.tone}`}>{fresh.text}</span>
      <span class={`trust-item ${behind.tone}`}>{behind.text}</span>
      {lost && (
        <a class={`trust-item ${lost.tone}`} href={href("rejected")}>
          {lost.text}
        </a>
      )}
    </div>
  );
}
