/** The place of what is not there yet, of about its size, so that nothing jumps when it comes. */
export function Waiting({ label, cards = 2 }: { label: string; cards?: number }) {
  return (
    <div class="waiting" role="status">
      <span class="hidden-text">{label}</span>
      {Array.from({ length: cards }, (_, place) => (
        <div key={place} class="waiting-card" aria-hidden="true" />
      ))}
    </div>
  );
}
