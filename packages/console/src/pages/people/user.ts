import type { ItemOf } from '@steeple/client'

/** A person who may log in. */
export type User = ItemOf<'/v1/users'>
