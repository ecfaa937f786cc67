import type { Usage } from "../../api/types";
import { Page } from "../../app/page";
import { type OwnPool, type OwnRow, ownRows } from "../../model/own";
import { Empty } from "../../parts/empty";
import { Amount } from "../../parts/figures";
import { ErrorNotice } from "../../parts/notice";
import { type Column, Table } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { ApiError } from "../../api/error";
import type { Api } from "../../api/client";
import { useAsked } from "../../state/asked";
import { useSession } from "../../state/session";
import { count } from "../../words/amount";
import { compare, minus } from "../../words/decimal";
import { portion } from "../../words/percent";
import { dimensionName } from "../../words/terms";
import { verdict } from "../../words/verdict";
import "./own.css";

const every = 30_000;

/** The pools that the keys of the token have to do with, as far as the engine shows them to it. */
async function pools(api: Api): Promise<OwnPool[]> {
  const keys = await api.log.keys();
  const ids = [...new Set(keys.flatMap((key) => key.pools.map((pool) => pool.poolId)))].sort();
  const usages = await Promise.all(ids.map((id) => usageOf(api, id)));
  return usages.flatMap((usage) => (usage === null ? [] : [{ id: usage.poolId, usage }]));
}

/** A key among many without a share may have no row: then its pool is not shown. */
async function usageOf(api: Api, id: string): Promise<Usage | null> {
  try {
    return await api.pools.usage(id);
  } catch (error) {
    if (error instanceof ApiError && error.code === "not-found") return null;
    throw error;
  }
}

/** What somebody sees whose token is bound to some keys: how those stand in each of their pools. */
export function OwnPage() {
  const { api, who } = useSession();
  const { value, error } = useAsked("own", () => pools(api), every);
  const keys = who.identity.value?.keys ?? [];
  return (
    <Page title="Your keys" lead={`How ${count(keys.length, "key")} of yours ${keys.length === 1 ? "stands" : "stand"} in the pools. Numbers are asked for every 30 seconds.`}>
      {error && <ErrorNotice title="The numbers cannot be read" error={error} />}
      {value === null ? !error && <Waiting label="The numbers are being read" /> : keys.map((key) => <OwnKey key={key} name={key} rows={ownRows(key, value)} />)}
    </Page>
  );
}

function OwnKey({ name, rows }: { name: string; rows: readonly OwnRow[] }) {
  return (
    <section class="own" aria-label={name}>
      <h2>{name}</h2>
      {rows.length === 0 ? (
        <Empty title="It is in no pool">
          <p>Nothing is shared with it, and nothing that it used on a pool is known.</p>
        </Empty>
      ) : (
        <OwnTable name={name} rows={rows} />
      )}
    </section>
  );
}

function OwnTable({ name, rows }: { name: string; rows: readonly OwnRow[] }) {
  const minute = useSession().store.minute.value;
  const columns: Column<OwnRow>[] = [
    { id: "pool", title: "Pool", cell: ({ pool }) => pool },
    { id: "dimension", title: "Counted", cell: ({ dimension }) => dimensionName(dimension) },
    { id: "used", title: "Used", right: true, cell: ({ use, dimension }) => <Amount of={use.consumed} unit={dimension.unit} /> },
    { id: "share", title: "Fair share", right: true, cell: (row) => <Share of={row} /> },
    { id: "left", title: "Left or borrowed", right: true, cell: (row) => <Left of={row} /> },
    { id: "held", title: "In flight", right: true, cell: ({ use, dimension }) => <Amount of={use.held} unit={dimension.unit} /> },
    {
      id: "now",
      title: "Now",
      cell: ({ verdict: v }) => {
        const said = v && verdict(v, minute);
        return <span class={`${said?.tone ?? "quiet"}-text`}>{said?.text ?? "not known"}</span>;
      },
    },
  ];
  return <Table caption={`How ${name} stands`} columns={columns} rows={rows} rowKey={(row) => row.id} />;
}

function Share({ of: { use, dimension } }: { of: OwnRow }) {
  if (use.fairShare === null) return <span class="faint">{dimension.limit === null ? "limit not known" : "none of its own"}</span>;
  return (
    <>
      <Amount of={use.fairShare} unit={dimension.unit} />
      <span class="own-part">{portion(use.consumed, use.fairShare, "it used")}</span>
    </>
  );
}

function Left({ of: { use, dimension } }: { of: OwnRow }) {
  if (use.deficit === null) return <span class="faint">not known</span>;
  const borrows = compare(use.deficit, 0) > 0;
  return (
    <span class={borrows ? "warn-text" : ""}>
      {borrows && "borrows "}
      <Amount of={borrows ? use.deficit : minus(0, use.deficit)} unit={dimension.unit} />
      {!borrows && " left"}
    </span>
  );
}
