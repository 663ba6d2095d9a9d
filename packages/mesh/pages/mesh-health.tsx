import { HealthList, t, useQuery } from '@steeple/console/kit'

const LOOK_MS = 10_000

/** How membership, links, announcements and the way out are. */
export function MeshHealth() {
  const health = useQuery(
    '/v1/health',
    {},
    { on: ['health.*', 'peer.*', 'mesh.*', 'node.*'], everyMs: LOOK_MS },
  )
  const parts = (health.data?.components ?? []).filter(({ name }) => name.startsWith('mesh.'))
  if (parts.length === 0) return null
  return (
    <section class="card" aria-labelledby="mesh-health">
      <h2 id="mesh-health">{t('mesh.health')}</h2>
      <HealthList components={parts} />
    </section>
  )
}
