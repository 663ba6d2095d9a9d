import { readFileSync } from 'node:fs'

/**
 * Packets that an interface has carried in both directions since it came; each once on the loopback interface, where what
 * is sent is received. Undefined when there is no such interface. Of the network namespace of this process.
 */
export function interfacePackets(iface: string): number | undefined {
  const counted = countersOf(iface)
  if (counted === undefined) return undefined
  return iface === 'lo' ? counted.received : counted.received + counted.sent
}

/** Packets that it has received alone. */
export function interfaceReceived(iface: string): number | undefined {
  return countersOf(iface)?.received
}

function countersOf(iface: string): { readonly received: number; readonly sent: number } | undefined {
  const line = readFileSync('/proc/self/net/dev', 'utf8')
    .split('\n')
    .map((text) => text.trim())
    .find((text) => text.startsWith(`${iface}:`))
  if (line === undefined) return undefined
  const fields = line
    .slice(iface.length + 1)
    .trim()
    .split(/\s+/)
    .map(Number)
  const [received = 0, sent = 0] = [fields[1], fields[9]]
  return { received, sent }
}
