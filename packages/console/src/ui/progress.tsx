/** How far something is: `value` of `max`; or, in the place of what comes, that it is on its way. */
export function Progress({
  label,
  value,
  max = 1,
}: {
  readonly label: string
  readonly value?: number
  readonly max?: number
}) {
  if (value !== undefined) return <progress aria-label={label} value={value} max={max} />
  return <div class="skeleton" role="progressbar" aria-label={label} />
}
