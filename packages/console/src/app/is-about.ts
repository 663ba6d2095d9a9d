/** Whether an outage says what an alert about `subject` says: `disk` is the component `nodes.disk`. */
export function isAbout(
  {
    component,
    effects,
    boxes,
  }: {
    readonly component: string
    readonly effects: readonly string[]
    readonly boxes?: { readonly count: number; readonly names: readonly string[] }
  },
  subject: string,
): boolean {
  // Of many boxes not all are named.
  if (boxes !== undefined && boxes.count > boxes.names.length && subject.startsWith('node/')) return true
  return [component, ...effects].some((name) => name === subject || name.endsWith(`.${subject}`))
}
