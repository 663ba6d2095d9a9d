/** What the tap's program is told; its only argument, as JSON. */
export interface TapOrder {
  readonly driver: 'pcap' | 'file'
  /** Of `pcap`. */
  readonly iface: string
  /** The addresses at which the core takes GTP-U. */
  readonly core: readonly string[]
  /** Size of the buffer in the kernel that packets wait in, octets. */
  readonly bufferBytes: number
}

/** Descriptors that the program finds open: two files for its counters, and the capture of `file`. */
export const TAP_FILES = { counters: [3, 4], capture: 5 } as const

/** Its status when the capture is damaged: another start would see the same. */
export const DAMAGED_STATUS = 3
