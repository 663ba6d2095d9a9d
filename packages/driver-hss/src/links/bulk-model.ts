import type { Doc, WriteOp } from './document-link.ts'

/** A write as `bulkWrite` of the MongoDB driver and of mongosh takes it. */
export function bulkModel(op: WriteOp): Doc {
  if (op.kind === 'delete') return { deleteMany: { filter: op.filter } }
  const body = { filter: op.filter, update: op.update, upsert: op.upsert === true }
  return op.many === true ? { updateMany: body } : { updateOne: body }
}
