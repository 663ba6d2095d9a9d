import { ifPage } from '../app/pages-here.ts'

/** A subscriber by the public hash, with a link to the page about it where there is one. */
export function SubscriberName({ hash, label }: { readonly hash: string; readonly label?: string | null }) {
  const href = ifPage(`/sims/${hash}`)
  const name = label === undefined || label === null || label === '' ? <code>{hash}</code> : label
  return href === undefined ? <span>{name}</span> : <a href={href}>{name}</a>
}
