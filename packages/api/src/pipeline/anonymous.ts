import { type Principal, systemPrincipal } from '@steeple/contracts'

/** The principal of a request to a public route. It has no role and may not change anything by itself. */
export const ANONYMOUS: Principal = systemPrincipal('anonymous')
