import {
  type AnswerOf,
  api,
  DataTable,
  Field,
  Form,
  type ItemOf,
  Lamp,
  may,
  Notice,
  t,
  useState,
  word,
} from '@steeple/console/kit'
import type { MeshMembers } from './peer-facts.ts'

type Found = AnswerOf<'POST', '/v1/mesh/sims/find'>
type Sim = Found['sims'][number]

const TONES: Readonly<Record<ItemOf<'/v1/sims'>['state'], 'ok' | 'warn' | 'none'>> = {
  'in-use': 'ok',
  suspended: 'warn',
}
/** Boxes in one line. */
const MOST_NAMED = 5

/** At the root: finds a SIM, whichever box it is of. */
export function FindSim({ members }: { readonly members: MeshMembers }) {
  const [text, setText] = useState('')
  const [found, setFound] = useState<Found>()
  if (!may('operator')) return null
  return (
    <section class="card stack" aria-labelledby="mesh-find">
      <h2 id="mesh-find">{t('mesh.find')}</h2>
      <Form
        look="toolbar"
        submit={t('mesh.find.go')}
        act={() => api.post('/v1/mesh/sims/find', { body: { q: text.trim() } })}
        onDone={setFound}
      >
        <Field
          type="search"
          label={t('mesh.find.what')}
          help={t('mesh.find.help')}
          value={text}
          onInput={setText}
          isRequired
        />
      </Form>
      {found === undefined ? null : <Results found={found} members={members} />}
    </section>
  )
}

function Results({ found, members }: { readonly found: Found; readonly members: MeshMembers }) {
  const { sims, asked, unanswered, is_more: isMore } = found
  const places = new Map(members.members.map((one) => [one.node_id, one.address]))
  const rest = unanswered.length - MOST_NAMED
  const names = unanswered.slice(0, MOST_NAMED).map(({ box }) => box)
  return (
    <>
      {unanswered.length === 0 ? null : (
        <Notice tone="warn">
          {t('mesh.find.unanswered', { count: unanswered.length, boxes: asked })} {names.join(', ')}
          {rest > 0 ? ` ${t('mesh.find.others', { count: rest })}` : ''}
        </Notice>
      )}
      <p>{t(isMore ? 'mesh.find.more' : 'mesh.find.found', { count: sims.length })}</p>
      {sims.length === 0 ? null : (
        <DataTable
          label={t('mesh.find')}
          rows={sims}
          keyOf={(sim) => `${sim.node_id} ${sim.imsi_sha256_12}`}
          columns={[
            {
              text: 'mesh.find.sim',
              cell: (sim) => <SimLink sim={sim} place={places.get(sim.node_id) ?? null} />,
              compare: (a, b) => (a.label ?? '').localeCompare(b.label ?? ''),
            },
            { text: 'mesh.find.box', of: 'box', isSortable: true },
            {
              text: 'mesh.link.state',
              cell: ({ state }) => <Lamp tone={TONES[state] ?? 'none'} label={word('sims.state', state)} />,
            },
            {
              text: 'mesh.find.card',
              isWide: true,
              cell: ({ iccid_last4: end }) => (end === null ? '–' : `…${end}`),
            },
          ]}
        />
      )}
    </>
  )
}

/** Its page is on the console of its box. */
function SimLink({ sim, place }: { readonly sim: Sim; readonly place: string | null }) {
  const { imsi_sha256_12: hash, label } = sim
  const name = label ?? hash
  if (place === null) return <>{name}</>
  return <a href={`https://${place}/sims/${hash}`}>{name}</a>
}
