import type { ComponentHealth, Context, Reader } from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'

const OF_OTHER_NETWORKS = ['<', '>']
  .map((sign) => `select state from sims_sim where plmn ${sign} :plmn`)
  .join(' union all ')
const COUNT = `select count(*) as sims from (${OF_OTHER_NETWORKS}) as others where state <> 'revoked'`

/**
 * That SIMs have numbers of another network than this one (`999-99`), and what to do about it; undefined when none has. A change
 * of the network's number leaves those of the old one behind.
 */
export async function misfits(reader: Reader, plmn: string): Promise<string | undefined> {
  const count = Number((await reader.get<{ readonly sims: number }>(COUNT, { plmn }))?.sims ?? 0)
  if (count === 0) return undefined
  const whose = count === 1 ? '1 SIM has an IMSI' : `${count} SIMs have IMSIs`
  return (
    `${whose} of another network than ${plmn}, so that their phones do not get on: set plmn back, or put new SIMs in ` +
    'their place (svc sim issue --replaces HASH), or revoke them'
  )
}

/** The same as a component of the health. */
export async function networkHealth({
  db,
  settings,
}: {
  readonly db: Reader
  readonly settings: Pick<Context['settings'], 'plmn'>
}): Promise<ComponentHealth> {
  const problem = await misfits(db, formatPlmn(settings.plmn))
  return {
    name: 'network',
    kind: 'feature',
    status: problem === undefined ? 'ok' : 'degraded',
    detail: problem ?? 'every SIM is of this network',
  }
}
