import { rowSum } from '@steeple/contracts'
import Database from 'better-sqlite3'

const COLUMNS = ['seq', 'at_ms', 'kind', 'subject', 'from_state', 'to_state', 'reason', 'how'] as const

/** Writes so many moves into the record of a store that is not in use, ten of each SIM. */
export function fillMoves(path: string, rows: number): void {
  const db = new Database(path)
  const all = [...COLUMNS, 'row_sum']
  const insert = db.prepare(
    `insert into compliance_move (${all.join(', ')}) values (${all.map((name) => `@${name}`).join(', ')})`,
  )
  const atMs = Date.now() - rows
  db.exec('begin')
  for (let n = 0; n < rows; n++) {
    const row = {
      seq: 1_000 + n,
      at_ms: atMs + n,
      kind: 'sim',
      subject: (n % (rows / 10)).toString(16).padStart(12, '0'),
      from_state: n % 2 === 0 ? 'issued' : 'suspended',
      to_state: n % 2 === 0 ? 'suspended' : 'issued',
      reason: n % 2 === 0 ? 'operator' : null,
      how: 'move',
    }
    insert.run({ ...row, row_sum: rowSum(COLUMNS, row) })
  }
  db.exec('commit')
  db.close()
}
