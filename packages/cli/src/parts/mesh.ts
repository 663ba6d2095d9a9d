import { MESH_COMMANDS } from '../commands/mesh.ts'
import { PEER_COMMANDS } from '../commands/peer.ts'
import type { Part } from '../part.ts'

/** `svc mesh`, `svc peer` */
export const part: Part = { commands: [...MESH_COMMANDS, ...PEER_COMMANDS] }
