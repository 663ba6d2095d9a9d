import type { Growth, Octets } from './growth.ts'
import type { KnownRun } from './known.ts'

/**
 * What grew in the records of a CHF that writes each report into the record that its subscriber opened last (up to 1.2.2, release
 * 4.2.1), by APN. Every rating group is a session there: octets add up, and whose they are is told by the groups.
 */
export function byApn(run: KnownRun, growths: readonly Growth[]): readonly Growth[] {
  const apns = apnsOfGroups(run)
  return growths.flatMap((growth) => {
    const sums = new Map<string | undefined, Octets>()
    for (const [group, [up, down]] of growth.groups) {
      const [upBytes, downBytes] = sums.get(apns.get(group)) ?? [0, 0]
      sums.set(apns.get(group), [upBytes + up, downBytes + down])
    }
    if (sums.size === 0) return [growth]
    return [...sums].map(([apn, [upBytes, downBytes]]) => ({ ...growth, apn, upBytes, downBytes }))
  })
}

/**
 * The APN of each rating group; undefined where it may be one of several.
 *
 * The PCF counts groups up from session to session, and the CHF its records: the sessions of groups come in the order of
 * these. A report stands in the record of its own session or of a later one.
 */
function apnsOfGroups({ records }: KnownRun): ReadonlyMap<number, string | undefined> {
  const sessions = [...records.values()].toSorted((a, b) => a.number - b.number)
  const groups = [...new Set(sessions.flatMap((one) => [...one.groups.keys()]))].toSorted((a, b) => a - b)
  const apns = new Map<number, string | undefined>()
  let behind = sessions.length
  for (const [earliest, group] of [...groups.entries()].reverse()) {
    const seenIn = sessions.findIndex((one) => one.groups.has(group))
    const latest = Math.min(seenIn, behind - 1)
    behind = latest
    const found = new Set(sessions.slice(earliest, latest + 1).map(({ apn }) => apn))
    apns.set(group, found.size === 1 ? [...found][0] : undefined)
  }
  return apns
}
