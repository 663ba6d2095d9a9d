import process from 'node:process'
import { CaptureError } from '../capture/capture-error.ts'
import { readCounters } from '../counters/counter-file.ts'
import { createTally } from '../counters/tally.ts'
import { coreEnds } from '../packet/address.ts'
import { packetCount } from './count-packets.ts'
import { followCapture } from './follow-capture.ts'
import { DAMAGED_STATUS, TAP_FILES, type TapOrder } from './order.ts'
import { watchInterface } from './watch-interface.ts'

/** The program that looks at packets. It has the descriptors that it was given and, for `pcap`, one capability. */
async function main(): Promise<void> {
  // The service, of the same build, writes it.
  const order = JSON.parse(process.argv[2] ?? '') as TapOrder
  // Ends with the service, also where the kernel does not see to it.
  process.stdin.on('end', () => process.exit(0)).resume()
  const ends = coreEnds(order.core)
  if (order.driver === 'file') {
    const tally = createTally()
    await followCapture(TAP_FILES, packetCount(ends, tally), tally)
    return
  }
  const before = readCounters(TAP_FILES.counters)
  const tally = createTally(before?.rows)
  await watchInterface(order, before, packetCount(ends, tally), tally)
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`, () =>
    process.exit(error instanceof CaptureError ? DAMAGED_STATUS : 1),
  )
})
