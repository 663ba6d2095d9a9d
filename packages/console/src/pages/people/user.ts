import type { ItemOf } from '@steeple/client'

/** A person who may log in. */
export type User = ItemOf<'/v1/users'>

/** Fewer recovery codes than that are soon none. */
export const FEW_CODES = 3
