/**
 * Gives the memory of large octets back at once, where a collection of garbage may be far. Nobody may use them any more: they
 * have no length then. Octets that are a part of some memory are left to the collection.
 */
export function freeOctets({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0)
}
