/** How far something is: `value` of `max`, or only that it runs. */
export function Progress({
  label,
  value,
  max = 1,
}: {
  readonly label: string
  readonly value?: number
  readonly max?: number
}) {
  return <progress aria-label={label} {...(value === undefined ? {} : { value, max })} />
}
