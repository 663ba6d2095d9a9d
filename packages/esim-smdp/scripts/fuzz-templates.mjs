// Reads mutated templates, and makes profiles of those that are taken: node scripts/fuzz-templates.mjs [templates] [seed].
// Fails on a throw that has no position in the template, and on a profile that does not say what it was given.
import { seededDraw } from '@steeple/testkit'
import { mutant, tried } from '../test/support/mutants.ts'

const count = Number(process.argv[2] ?? 20_000)
// The same templates for the same seed.
const draw = seededDraw(Number(process.argv[3] ?? 1))
const seen = { refused: 0, taken: 0 }
for (let i = 0; i < count; i++) {
  const octets = mutant(draw)
  try {
    seen[tried(octets)] += 1
  } catch (error) {
    process.stderr.write(`template ${i}: ${Buffer.from(octets).toString('hex').slice(0, 400)}…\n`)
    throw error
  }
}
process.stdout.write(`${JSON.stringify({ templates: count, ...seen })}\n`)
