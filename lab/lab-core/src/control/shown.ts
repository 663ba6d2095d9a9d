import type { Traffic } from '../gtpu/traffic.ts'
import type { Fleet, NamedPhone } from '../phones/fleet.ts'
import type { ControlAnswer, ControlPlace } from './place.ts'

/** An answer waits so long for phones to attach, ms. */
const SETTLE_MS = 2_000
const POLL_MS = 10

/** Phones once none of them is attaching, or after a bounded wait. */
export async function shown(
  chosen: readonly NamedPhone[],
  name: string,
  { fleet, clock, traffic }: ControlPlace,
): Promise<ControlAnswer> {
  for (let waited = 0; waited < SETTLE_MS; waited += POLL_MS) {
    if (!chosen.some(({ phone }) => phone.state === 'attaching')) break
    await clock.sleep(POLL_MS)
  }
  const items = chosen.map((named) => phoneRecord(named, fleet, traffic))
  return { status: 200, body: name === 'all' ? { phones: items } : items[0] }
}

/** A phone as it is shown: neither its IMSI nor its keys. */
function phoneRecord(named: NamedPhone, fleet: Fleet, traffic: Traffic): object {
  const session = fleet.session(named)
  const moved = traffic.moved(named.imsi)
  const kept = traffic.kept(named.imsi)
  return {
    phone: named.name,
    state: named.phone.state,
    problem: named.phone.problem ?? null,
    apn: session?.apn ?? null,
    ipv4: session?.lease.ipv4 ?? null,
    ipv6: session?.lease.ipv6 ?? null,
    up_bytes: session?.upBytes ?? 0,
    down_bytes: session?.downBytes ?? 0,
    traffic: { up_kbps: kept.up / 1000, down_kbps: kept.down / 1000 },
    total: {
      up_bytes: moved.upBytes,
      down_bytes: moved.downBytes,
      up_packets: moved.upPackets,
      down_packets: moved.downPackets,
    },
  }
}
