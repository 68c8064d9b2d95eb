/** The house's mark and the name of the place. */

export const Brand = ({ home, name }: Readonly<{ home: string; name: string }>) => (
  <a class="brand" href={home}>
    <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#0b6650" />
      <path d="M8 24V12M24 24V12M8 16 24 9" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" />
    </svg>
    <span>
      Tollgate <span class="place">{name}</span>
    </span>
  </a>
)
