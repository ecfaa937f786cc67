/** Pictures of 16 by 16, drawn with one line. They never stand for a word alone. */
const paths = {
  pools: "M2.5 4h11M2.5 8h7.5M2.5 12h4.5",
  plans: "M3 2.5h7l3 3v8H3zM10 2.5v3h3M5.5 8.5h5M5.5 11h3.5",
  why: "M6 6.2a2 2 0 1 1 2.8 1.9c-.6.3-.8.7-.8 1.4M8 11.6v.1M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z",
  whatif: "M4 2.5v4.2c0 1.2.8 2 2 2h4c1.2 0 2 .8 2 2v2.8M4 13.5V8M10 11.5l2 2 2-2M2.3 4.2L4 2.5l1.7 1.7",
  decisions: "M2.5 4.5l1.3 1.3L6 3.5M2.5 11l1.3 1.3L6 10M8.5 5h5M8.5 11.5h5",
  rejected: "M8 2.3l6 10.9H2zM8 6.5v3.2M8 11.4v.1",
  settings: "M2.5 5h6M11.5 5h2M2.5 11h2M7.5 11h6M10 3.3v3.4M6 9.3v3.4",
  close: "M4 4l8 8M12 4l-8 8",
  sun: "M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9M11 8a3 3 0 1 1-6 0 3 3 0 0 1 6 0z",
  moon: "M13.3 9.6A5.6 5.6 0 0 1 6.4 2.7a5.6 5.6 0 1 0 6.9 6.9z",
  system: "M2 3h12v8H2zM6 13.5h4M8 11v2.5",
  arrow: "M6 3.5L10.5 8 6 12.5",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
