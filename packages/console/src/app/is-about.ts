/** Whether an outage says what an alert about `subject` says: `disk` is the component `nodes.disk`. */
export function isAbout(
  { component, effects }: { readonly component: string; readonly effects: readonly string[] },
  subject: string,
): boolean {
  return [component, ...effects].some((name) => name === subject || name.endsWith(`.${subject}`))
}
