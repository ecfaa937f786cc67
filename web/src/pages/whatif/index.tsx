import { Page } from "../../app/page";
import { Empty } from "../../parts/empty";

/** What would have been under other rules. */
export function WhatIfPage() {
  return (
    <Page title="What if">
      <Empty title="Not here yet">
        <p>The API has it already: see /api/openapi.json.</p>
      </Empty>
    </Page>
  );
}
