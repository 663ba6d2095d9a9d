import { addMeshCommands } from '../commands/mesh.ts'
import { addPeerCommands } from '../commands/peer.ts'
import type { Part } from '../part.ts'

/** `svc mesh`, `svc peer` */
export const part: Part = {
  addCommands: (program, terminal) => {
    addMeshCommands(program, terminal)
    addPeerCommands(program, terminal)
  },
}
