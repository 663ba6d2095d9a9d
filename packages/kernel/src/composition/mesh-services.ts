import { type Clock, meshAuthorityRef, meshIdentityRef } from '@steeple/contracts'
import { openMeshAuthority, openMeshIdentity, type Secrets } from '@steeple/secrets'

/** What the kernel provides to the mesh, by service id. Throws `secrets_invalid` for a membership that is damaged. */
export function meshServices(secrets: Secrets, clock: Clock): readonly (readonly [string, object])[] {
  return [
    [meshAuthorityRef.id, openMeshAuthority(secrets, clock)],
    [meshIdentityRef.id, openMeshIdentity(secrets)],
  ]
}
