import { formatPlmn } from '@steeple/telecom'
import { apnsOf } from '../store/sim-row.ts'
import { type Check, doubtful, fine } from './check.ts'
import type { Facts } from './core-checks.ts'

/** Whether it is of this network: its number, and the access points that it may use. TS 23.003 clauses 2.2 and 9. */
export function networkCheck({ row, settings, apns }: Pick<Facts, 'row' | 'settings' | 'apns'>): Check {
  const name = 'network'
  const own = formatPlmn(settings.plmn)
  if (row.plmn !== own)
    return doubtful(
      name,
      `its SIM is of ${row.plmn}, and this network is ${own}: phones take none but their own by themselves`,
      `issue another SIM in its place (svc sim issue --replaces ${row.hash}), or set plmn to ${row.plmn} again`,
    )
  const missing = apnsOf(row).filter((apn) => !apns.includes(apn))
  if (missing.length > 0)
    return doubtful(
      name,
      `it may use ${missing.join(', ')}, which this network does not have`,
      `take it into the APNs of the policy, or set the APN in the phone to one of ${apns.join(', ')}`,
    )
  return fine(name, `of ${own}, with ${apnsOf(row).join(', ')}`)
}

/** Whether the clock of the node is believed: while it is not, no SIM expires, and one that has by a wrong clock stays off. */
export function clockCheck({ doubt }: Pick<Facts, 'doubt'>): Check {
  return doubt === undefined
    ? fine('clock', 'the clock of this node is believed')
    : doubtful(
        'clock',
        `the clock of this node is not believed: ${doubt}`,
        'svc clock confirm, when it is right',
      )
}
