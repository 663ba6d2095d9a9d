/** The reconciler of the gate and its one key. */
export const TX_RESOURCE = 'tx_gate'
export const TX_KEY = 'gate'
