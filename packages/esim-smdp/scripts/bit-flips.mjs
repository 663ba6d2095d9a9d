// Flips every bit of everything that an eUICC signs, one at a time: node scripts/bit-flips.mjs [every nth, 1].
import { flipBits } from '../test/support/bit-flips.ts'

const { flips, parts } = await flipBits(Number(process.argv[2] ?? 1), 0)
const lines = [...parts].map(([part, count]) => `${String(count).padStart(8)}  ${part}`)
process.stdout.write(`${lines.join('\n')}\n${flips} bits, each refused with its code\n`)
