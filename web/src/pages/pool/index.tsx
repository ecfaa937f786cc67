import { Page } from "../../app/page";
import { Empty } from "../../parts/empty";

/** One pool in full. */
export function PoolPage() {
  return (
    <Page title="Pool">
      <Empty title="Not here yet">
        <p>The API has it already: see /api/openapi.json.</p>
      </Empty>
    </Page>
  );
}
