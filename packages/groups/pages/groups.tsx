import {
  type AnswerOf,
  api,
  Button,
  Checkbox,
  Checkboxes,
  Closing,
  type Column,
  Copy,
  choices,
  DataTable,
  Dialog,
  DialogButton,
  EmptyState,
  ErrorNotice,
  Field,
  FormDialog,
  Lamp,
  may,
  named,
  type RequestOf,
  Said,
  Select,
  Time,
  type Tone,
  t,
  useQuery,
  useState,
  word,
} from '@steeple/console/kit'

type Group = AnswerOf<'GET', '/v1/groups'>['groups'][number]
type Box = AnswerOf<'GET', '/v1/desired-state'>['boxes'][number]
type Wanted = RequestOf<'PUT', '/v1/groups/{name}'>['body']['state']
type Steering = AnswerOf<'GET', '/v1/steering'>

const CHANGES = ['groups.*', 'mesh.*', 'node.*'] as const
const LOOK_MS = 30_000
const PARTS = [
  'policy',
  'plugins',
  'alert_rules',
  'licenses',
  'radio_profiles',
  'users',
  'invitations',
  'software',
] as const
/** Roles that a hub may give. */
const ROLES = ['viewer', 'operator', 'sim:issuer'] as const
const LIVES = ['24h', '72h', '7d', '30d'] as const
const TONES: Readonly<Record<string, Tone>> = {
  in_step: 'ok',
  differs: 'warn',
  refused: 'bad',
  not_permitted: 'warn',
  applied: 'ok',
}

/** At a root: groups of boxes, and how each box stands. At a member: what its root may set here. */
export function Panel() {
  const steering = useQuery(may('admin') ? '/v1/steering' : undefined, {}, { on: CHANGES, everyMs: LOOK_MS })
  if (steering.data !== undefined && steering.data.hub !== null)
    return <Steered steering={steering.data} onChange={steering.reload} />
  return <Groups />
}

function Groups() {
  const groups = useQuery('/v1/groups', { query: { limit: 200 } }, { on: CHANGES })
  const boxes = useQuery('/v1/desired-state', { query: { limit: 500 } }, { on: CHANGES, everyMs: LOOK_MS })
  const [open, setOpen] = useState<Group | 'new'>()
  const [box, setBox] = useState<string>()
  const [inviting, setInviting] = useState<string>()
  const rows = groups.data?.groups ?? []
  const all = boxes.data?.boxes ?? []
  if (groups.error !== undefined) return <ErrorNotice error={groups.error} onRetry={groups.reload} />
  // A box alone has nobody to set anything for.
  if (groups.data === undefined || (all.length === 0 && rows.length === 0)) return null
  const steered = all.filter(({ version }) => version !== null)
  const shown = all.find(({ node_id }) => node_id === box)
  const invited = rows.find(({ name }) => name === inviting)
  return (
    <section aria-labelledby="mesh-groups">
      <h2 id="mesh-groups">{t('groups.title')}</h2>
      {rows.length === 0 ? (
        <EmptyState title={t('groups.none')}>{t('groups.none.help')}</EmptyState>
      ) : (
        <DataTable
          label={t('groups.title')}
          rows={rows}
          columns={groupColumns(setOpen, setInviting, groups.reload)}
          keyOf={({ name }) => name}
        />
      )}
      {may('admin') ? (
        <div class="toolbar">
          <Button onClick={() => setOpen('new')}>{t('groups.add')}</Button>
        </div>
      ) : null}
      {steered.length === 0 ? null : (
        <DataTable
          label={t('groups.standing')}
          rows={steered}
          columns={boxColumns(setBox)}
          keyOf={({ node_id }) => node_id}
          onOpen={({ node_id }) => setBox(node_id)}
        />
      )}
      {open === undefined ? null : (
        <GroupDialog
          group={open === 'new' ? undefined : open}
          boxes={all}
          onDone={groups.reload}
          onClose={() => setOpen(undefined)}
        />
      )}
      {invited === undefined ? null : (
        <InviteDialog group={invited} onDone={groups.reload} onClose={() => setInviting(undefined)} />
      )}
      {shown === undefined ? null : (
        <Dialog isOpen title={shown.name} onClose={() => setBox(undefined)}>
          <PartList parts={shown.parts} />
          <Closing onClose={() => setBox(undefined)} />
        </Dialog>
      )}
    </section>
  )
}

function groupColumns(
  open: (group: Group) => void,
  invite: (name: string) => void,
  onChange: () => void,
): readonly Column<Group>[] {
  return [
    { text: 'groups.name', of: 'name', isSortable: true },
    { text: 'groups.boxes', isNumeric: true, of: 'boxes' },
    { text: 'groups.parts', cell: ({ state }) => partWords(Object.keys(state)) },
    { text: 'groups.rank', isNumeric: true, isWide: true, of: 'rank' },
    { text: 'groups.changed', isWide: true, of: 'updated_at', as: 'moment' },
    {
      key: 'do',
      title: '',
      cell: (group) =>
        may('admin') ? (
          <>
            <Button kind="quiet" onClick={() => open(group)}>
              {t('groups.edit')}
            </Button>{' '}
            <Button kind="quiet" onClick={() => invite(group.name)}>
              {t('groups.invite')}
            </Button>{' '}
            <DialogButton
              text="groups.remove"
              title={group.name}
              button={{ kind: 'quiet' }}
              act={() => api.delete('/v1/groups/{name}', { path: { name: group.name } })}
              done={t('groups.removed')}
              onDone={onChange}
            />
          </>
        ) : null,
    },
  ]
}

function partWords(parts: readonly string[]): string {
  return parts.map((part) => word('groups.part', part)).join(', ')
}

function boxColumns(open: (id: string) => void): readonly Column<Box>[] {
  return [
    {
      text: 'groups.box',
      cell: ({ node_id, name }) => (
        <Button kind="quiet" onClick={() => open(node_id)}>
          {name}
        </Button>
      ),
      of: 'name',
      isSortable: true,
    },
    {
      text: 'groups.how',
      cell: ({ standing }) => (
        <Lamp tone={TONES[standing] ?? 'none'} label={word('groups.standing', standing)} />
      ),
      of: 'standing',
      isSortable: true,
    },
    { text: 'groups.title', isWide: true, cell: ({ groups }) => groups.join(', ') || '–' },
    { text: 'groups.told', isWide: true, of: 'told_at', as: 'moment' },
  ]
}

/** What became of each part, why, and where the box differs. */
function PartList({ parts }: { readonly parts: Box['parts'] }) {
  return (
    <ul class="home-list">
      {parts.map(({ part, status, problems, drift }) => (
        <li key={part}>
          <Lamp
            tone={status === 'applied' && drift.length > 0 ? 'warn' : (TONES[status] ?? 'none')}
            label={named(word('groups.part', part), word('groups.status', status))}
          />
          <div class="words fine">
            {problems.map(({ pointer, message }) => (
              <p key={pointer}>
                <Said>{message}</Said>
              </p>
            ))}
            {drift.map(({ pointer, desired, actual }) => (
              <p key={pointer}>{t('groups.drift', { pointer, desired, actual })}</p>
            ))}
            {problems.length + drift.length === 0 ? t('groups.well') : null}
          </div>
        </li>
      ))}
    </ul>
  )
}

interface GroupDialogProps {
  readonly group: Group | undefined
  readonly boxes: readonly Box[]
  readonly onDone: () => void
  readonly onClose: () => void
}

function GroupDialog({ group, boxes, onDone, onClose }: GroupDialogProps) {
  const [name, setName] = useState(group?.name ?? '')
  const [isAll, setAll] = useState(group?.members.all ?? true)
  const [nodes, setNodes] = useState<ReadonlySet<string>>(new Set(group?.members.nodes))
  const [text, setText] = useState(JSON.stringify(group?.state ?? { policy: {} }, undefined, 2))
  const state = objectIn(text)
  const members = { all: isAll, nodes: [...nodes] }
  return (
    <FormDialog
      title={group?.name ?? t('groups.add')}
      confirm={t('groups.save')}
      what={t('groups.save.what')}
      isDisabled={state === undefined || name === ''}
      act={() =>
        api.put('/v1/groups/{name}', {
          path: { name },
          body: { members, state: state ?? {}, rank: group?.rank ?? 0 },
        })
      }
      done={t('groups.saved')}
      onDone={onDone}
      onClose={onClose}
    >
      {group === undefined ? <Field text="groups.name" value={name} onInput={setName} /> : null}
      <Checkbox text="groups.all" isChecked={isAll} onChange={setAll} />
      {isAll ? null : (
        <Checkboxes
          options={boxes.map(({ node_id: value, name: label }) => ({ value, label }))}
          chosen={nodes}
          onChange={setNodes}
        />
      )}
      <Field
        text="groups.state"
        name="state"
        lines={12}
        value={text}
        onInput={setText}
        error={state === undefined ? t('groups.state.wrong') : undefined}
      />
    </FormDialog>
  )
}

interface InviteProps {
  readonly group: Group
  readonly onDone: () => void
  readonly onClose: () => void
}

/** Asks who is invited; then shows the token of each box, once. */
function InviteDialog({ group: { name: group, invitations }, onDone, onClose }: InviteProps) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<ReadonlySet<string>>(new Set(['viewer']))
  const [life, setLife] = useState<string>('7d')
  const [made, setMade] = useState<AnswerOf<'POST', '/v1/groups/{name}/invitations'>>()
  if (made !== undefined) return <Tokens made={made} onClose={onClose} />
  return (
    <FormDialog
      text="groups.invite"
      values={{ name: group }}
      isDisabled={name === '' || roles.size === 0}
      act={() =>
        api.post('/v1/groups/{name}/invitations', {
          path: { name: group },
          body: { name, roles: ROLES.filter((role) => roles.has(role)), expires_in: life },
        })
      }
      onDone={(answer) => {
        setMade(answer)
        onDone()
      }}
      onClose={onClose}
    >
      {invitations.map(({ name: person, expires_at: at }) => (
        <p key={person}>
          {person} (<Time at={at} />){' '}
          <DialogButton
            text="groups.remove"
            title={person}
            what=""
            button={{ kind: 'quiet' }}
            act={() =>
              api.delete('/v1/groups/{name}/invitations/{person}', { path: { name: group, person } })
            }
            done={t('groups.saved')}
            onDone={onDone}
          />
        </p>
      ))}
      <Field text="groups.invite.person" value={name} onInput={setName} />
      <Checkboxes
        legend={t('groups.invite.roles')}
        options={choices('people.role', ROLES)}
        chosen={roles}
        onChange={setRoles}
      />
      <Select
        text="groups.invite.life"
        value={life}
        options={choices('people.for', LIVES)}
        onChange={setLife}
      />
    </FormDialog>
  )
}

interface TokensProps {
  readonly made: AnswerOf<'POST', '/v1/groups/{name}/invitations'>
  readonly onClose: () => void
}

function Tokens({ made: { name, boxes }, onClose }: TokensProps) {
  return (
    <Dialog isOpen title={t('groups.invite.tokens', { name })} onClose={onClose}>
      <p>{t('groups.invite.link')}</p>
      <ul class="home-list">
        {boxes.map(({ node_id, name: box, token }) => (
          <li key={node_id}>
            {box} <code>{token}</code> <Copy text={token} />
          </li>
        ))}
      </ul>
      <Closing onClose={onClose} />
    </Dialog>
  )
}

function objectIn(text: string): Wanted | undefined {
  try {
    const value: unknown = JSON.parse(text)
    // The route checks the rest of it.
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Wanted)
      : undefined
  } catch {
    return undefined
  }
}

/** What the root of the mesh may set on this box, and where this box differs from that. */
function Steered({ steering, onChange }: { readonly steering: Steering; readonly onChange: () => void }) {
  const [isOpen, setOpen] = useState(false)
  const { permitted, parts } = steering
  return (
    <section aria-labelledby="mesh-steering">
      <h2 id="mesh-steering">{t('groups.steering')}</h2>
      <p>
        {permitted.length === 0
          ? t('groups.steering.none')
          : t('groups.steering.some', { parts: partWords(permitted) })}
      </p>
      {parts.length === 0 ? null : <PartList parts={parts} />}
      <div class="toolbar">
        <Button onClick={() => setOpen(true)}>{t('groups.permit')}</Button>
      </div>
      {isOpen ? (
        <PermitDialog permitted={permitted} onDone={onChange} onClose={() => setOpen(false)} />
      ) : null}
    </section>
  )
}

interface PermitProps {
  readonly permitted: Steering['permitted']
  readonly onDone: () => void
  readonly onClose: () => void
}

function PermitDialog({ permitted, ...dialog }: PermitProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(permitted))
  return (
    <FormDialog
      {...dialog}
      text="groups.permit"
      act={() => api.put('/v1/steering', { body: { permitted: PARTS.filter((part) => chosen.has(part)) } })}
    >
      <Checkboxes options={choices('groups.part', PARTS)} chosen={chosen} onChange={setChosen} />
    </FormDialog>
  )
}
