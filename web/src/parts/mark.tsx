/** The sign of the dashboard: three parts of one whole. */
export function Mark() {
  return (
    <svg class="brand-mark" width="24" height="24" viewBox="0 0 32 32" aria-hidden="true">
      <rect class="brand-ground" width="32" height="32" rx="8" />
      <rect x="7" y="8" width="18" height="4" rx="2" fill="#fff" />
      <rect x="7" y="14" width="12" height="4" rx="2" fill="#ffc47d" />
      <rect x="7" y="20" width="7" height="4" rx="2" fill="#8fe3c4" />
    </svg>
  );
}
