/** Names a service and its type. Two refs with the same id are the same service. */
export interface ServiceRef<T extends object> {
  readonly id: string
  /** Never set; carries the type. */
  readonly type?: T
}

/** Declares a service: `serviceRef<Vault>('kernel.vault')`. */
export function serviceRef<T extends object>(id: string): ServiceRef<T> {
  return { id }
}
