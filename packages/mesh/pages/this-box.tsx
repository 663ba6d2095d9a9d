import {
  type AnswerOf,
  api,
  Button,
  Card,
  Checkbox,
  Closing,
  Copy,
  Dialog,
  durationText,
  ErrorNotice,
  Facts,
  Field,
  FormDialog,
  may,
  Notice,
  QrCode,
  Said,
  t,
  useEffect,
  useQuery,
  useState,
  useTyped,
} from '@steeple/console/kit'
import { LeaveDialog } from './leave-dialog.tsx'
import type { MeshMembers } from './peer-facts.ts'

/** What an invitation holds: where to join, and with what. */
interface Invited {
  readonly url: string
  readonly token: string
}

/** Shorter is no token, but a word of the command around it. */
const LEAST_TOKEN = 20

/** What was pasted: the whole command of an invitation, or address and token in any order. Undefined when one of them is missing. */
function invitedFrom(text: string): Invited | undefined {
  const words = text.split(/[\s|]+/)
  const url = words.find((word) => word.startsWith('https://'))
  const token = words.find((word) => word !== url && word.length >= LEAST_TOKEN)
  return url === undefined || token === undefined ? undefined : { url, token }
}

/** A name, where one was given. */
function called(name: string): { readonly name?: string } {
  return name.trim() === '' ? {} : { name: name.trim() }
}

type Joined = AnswerOf<'POST', '/v1/mesh/join'>

/** Takes this box into the mesh that an invitation is for. */
function JoinDialog({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) {
  const [pasted, setPasted] = useState('')
  const [name, setName] = useState('')
  const [wrong, setWrong] = useState<string>()
  const [joined, setJoined] = useState<Joined>()
  const join = async () => {
    const invited = invitedFrom(pasted)
    setWrong(invited === undefined ? t('mesh.join.wrong') : undefined)
    if (invited === undefined) return undefined
    return await api.post('/v1/mesh/join', { body: { ...invited, ...called(name) } })
  }
  if (joined !== undefined) return <Welcome joined={joined} onClose={onClose} />
  return (
    <FormDialog
      text="mesh.join"
      title={t('mesh.do.join')}
      act={join}
      onDone={(data) => {
        setJoined(data)
        onDone()
      }}
      onClose={onClose}
    >
      <Field text="mesh.join.pasted" value={pasted} onInput={setPasted} error={wrong} lines={4} isRequired />
      <Field text="mesh.join.name" value={name} onInput={setName} />
    </FormDialog>
  )
}

function Welcome({ joined, onClose }: { readonly joined: Joined; readonly onClose: () => void }) {
  return (
    <Dialog isOpen title={t('mesh.joined', { name: joined.mesh.name })} onClose={onClose}>
      <Notice tone="ok">{t('mesh.joined.address', { address: joined.overlay_address })}</Notice>
      <p>{t('mesh.words')}</p>
      <p class="compared">{joined.ca_words}</p>
      <p>{t('mesh.joined.listener')}</p>
      <Closing kind="primary" onClose={onClose} />
    </Dialog>
  )
}

type Invitation = AnswerOf<'POST', '/v1/mesh/invite'>

/** Invites another box: a token that works once and is shown once. */
function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [made, setMade] = useState<Invitation>()
  if (made !== undefined)
    return (
      <Dialog isOpen title={t('mesh.do.invite')} onClose={onClose} isFirm>
        <Shown invitation={made} onClose={onClose} />
      </Dialog>
    )
  return (
    <FormDialog
      title={t('mesh.do.invite')}
      icon="plus"
      confirm={t('mesh.invite.go')}
      what={t('mesh.invite.what')}
      act={() => api.post('/v1/mesh/invite', { body: called(name) })}
      onDone={setMade}
      onClose={onClose}
    >
      <Field text="mesh.invite.name" value={name} onInput={setName} />
    </FormDialog>
  )
}

function Shown({ invitation, onClose }: { readonly invitation: Invitation; readonly onClose: () => void }) {
  const leftMs = useCountdown(invitation.expires_at)
  const isOver = leftMs <= 0
  return (
    <div class="stack">
      <Notice tone={isOver ? 'bad' : 'warn'}>{isOver ? t('mesh.invite.over') : t('mesh.invite.once')}</Notice>
      {isOver ? null : (
        <>
          <p class="countdown" role="timer">
            {t('mesh.invite.left', { time: durationText(leftMs) })}
          </p>
          <QrCode text={invitation.command} what={t('mesh.invite.qr')} />
          <p>
            {t('mesh.invite.command')} <Copy text={invitation.command} />
          </p>
          <pre>{invitation.command}</pre>
        </>
      )}
      <p>{t('mesh.words')}</p>
      <p class="compared">{invitation.ca_words}</p>
      <div class="actions">
        <Button onClick={onClose}>{t('mesh.invite.done')}</Button>
      </div>
    </div>
  )
}

const TICK_MS = 1_000

/** Ms until a moment, second by second; 0 from then on. */
function useCountdown(until: string): number {
  const left = (): number => Math.max(0, Date.parse(until) - Date.now())
  const [leftMs, setLeftMs] = useState(left)
  useEffect(() => {
    const timer = setInterval(() => setLeftMs(left()), TICK_MS)
    return () => clearInterval(timer)
  }, [until])
  return leftMs
}

const FIELDS = ['name', 'endpoint', 'key', 'routes'] as const

/** Links a box that is no member, by hand: the same has to be done on the other side. */
function LinkDialog({ onClose }: { readonly onClose: () => void }) {
  const { typed, of } = useTyped({ name: '', endpoint: '', key: '', routes: '' })
  const body = {
    name: typed.name.trim(),
    endpoint: typed.endpoint.trim(),
    public_key: typed.key.trim(),
    routes: typed.routes.split(/[\s,]+/).filter((route) => route !== ''),
  }
  return (
    <FormDialog
      text="mesh.link"
      title={t('mesh.do.link')}
      act={() => api.post('/v1/peers', { body })}
      done={({ name }) => t('mesh.linked', { name })}
      onClose={onClose}
    >
      {FIELDS.map((field) => (
        <Field key={field} {...of(field)} text={`mesh.link.by.${field}`} isRequired />
      ))}
    </FormDialog>
  )
}

const LOOK_MS = 10_000

/** What is being done about the mesh. */
type Doing = 'invite' | 'join' | 'leave' | 'link' | 'rotate'

interface BoxProps {
  readonly members: MeshMembers | undefined
  readonly nodeId: string | undefined
  readonly onChange: () => void
}

/** What others must know of this box, and what can be done about its mesh. */
export function ThisBox({ members, nodeId, onChange }: BoxProps) {
  const self = useQuery('/v1/peers/self', {}, { on: ['peer.*', 'mesh.*', 'node.*'], everyMs: LOOK_MS })
  const [doing, setDoing] = useState<Doing>()
  const { data, error } = self
  const changed = (): void => {
    onChange()
    self.reload()
  }
  return (
    <Card title={t('mesh.self')}>
      <ErrorNotice error={error} onRetry={self.reload} />
      {data === undefined ? null : <Own self={data} members={members} nodeId={nodeId} />}
      <Actions members={members} nodeId={nodeId} onDo={setDoing} />
      <Chosen
        doing={doing}
        nodeId={nodeId ?? ''}
        mesh={members?.mesh.name ?? ''}
        isRotating={typeof data?.next_public_key === 'string'}
        onClose={() => setDoing(undefined)}
        onDone={changed}
      />
    </Card>
  )
}

function Own({
  self,
  members,
  nodeId,
}: Pick<BoxProps, 'members' | 'nodeId'> & { readonly self: AnswerOf<'GET', '/v1/peers/self'> }) {
  const { problem, address, listen_port: port, public_key: key, next_public_key: next } = self
  return (
    <>
      {problem === null ? null : (
        <Notice tone="bad">
          <Said>{problem}</Said>
        </Notice>
      )}
      <Facts
        facts={[
          [t('mesh.which'), members === undefined ? '–' : whichMesh(members, nodeId)],
          [t('mesh.link.address'), address ?? t('mesh.self.noAddress')],
          [t('mesh.self.port'), `${port} (${self.interface})`],
          [
            t('mesh.key'),
            <>
              <code>{key ?? '–'}</code>
              {key === null ? null : <Copy text={key} label={t('mesh.key.copy')} />}
            </>,
          ],
          [t('mesh.key.next'), next === null ? null : <NextKey text={next} names={self.waiting_for} />],
        ]}
      />
    </>
  )
}

function NextKey({ text, names }: { readonly text: string; readonly names: readonly string[] }) {
  return (
    <>
      <code>{text}</code>
      <Copy text={text} label={t('mesh.key.next.copy')} />
      {names.length === 0 ? null : <p class="fine">{t('mesh.key.waiting', { names: names.join(', ') })}</p>}
    </>
  )
}

interface ChosenProps {
  readonly doing: Doing | undefined
  readonly nodeId: string
  readonly mesh: string
  readonly isRotating: boolean
  readonly onClose: () => void
  readonly onDone: () => void
}

function Chosen({ doing, nodeId, mesh, isRotating, onClose, onDone }: ChosenProps) {
  switch (doing) {
    case 'invite':
      return <InviteDialog onClose={onClose} />
    case 'join':
      return <JoinDialog onClose={onClose} onDone={onDone} />
    case 'link':
      return <LinkDialog onClose={onClose} />
    case 'rotate':
      return <RotateDialog isUnderWay={isRotating} onClose={onClose} onDone={onDone} />
    case 'leave':
      return <LeaveDialog nodeId={nodeId} name={mesh} isOwn onClose={onClose} onDone={onDone} />
    default:
      return null
  }
}

function whichMesh({ mesh, members }: MeshMembers, nodeId: string | undefined): string {
  const values = { name: mesh.name, count: members.length }
  return t(mesh.root_node_id === nodeId ? 'mesh.which.root' : 'mesh.which.member', values)
}

/** What may be done here: a root invites, a box alone joins, a member leaves. */
function Actions({
  members,
  nodeId,
  onDo,
}: Pick<BoxProps, 'members' | 'nodeId'> & { readonly onDo: (doing: Doing) => void }) {
  const isRoot = members !== undefined && members.mesh.root_node_id === nodeId
  const lacksTls = useLackOfTls(may('admin') && isRoot)
  const offers: readonly (readonly [Doing, boolean])[] = [
    ['invite', may('admin') && isRoot],
    ['join', may('admin') && isRoot && members.members.length === 1],
    ['leave', may('admin') && members !== undefined && !isRoot],
    ['link', may('operator')],
    ['rotate', may('operator')],
  ]
  return (
    <>
      {lacksTls ? <NeedsTls /> : null}
      <div class="toolbar offers">
        {offers.map(([doing, isOffered]) =>
          isOffered ? (
            <Button
              key={doing}
              kind={doing === 'invite' ? 'primary' : 'plain'}
              isDisabled={doing === 'invite' && lacksTls}
              onClick={() => onDo(doing)}
            >
              {t(`mesh.do.${doing}`)}
            </Button>
          ) : null,
        )}
      </div>
    </>
  )
}

/** Whether others could not join here, since the box speaks no TLS; false until that is known. */
function useLackOfTls(isAsked: boolean): boolean {
  const settings = useQuery(isAsked ? '/v1/settings' : undefined, {}, { on: ['settings.*', 'config.*'] })
  return settings.data?.settings.find(({ key }) => key === 'tls.enabled')?.value === false
}

/** Why nobody can be invited, and what to do about it, before anything is filled in. */
function NeedsTls() {
  return (
    <Notice tone="warn">
      <p>{t('mesh.needsTls')}</p>
      <p>
        <a href="/settings?q=tls.enabled">{t('mesh.needsTls.setting')}</a> ·{' '}
        <a href="/docs/how-to/mesh.html">{t('mesh.needsTls.docs')}</a>
      </p>
    </Notice>
  )
}

/** Changes the WireGuard key of this box; what waits for whom stands on the page. */
function RotateDialog({
  isUnderWay,
  onClose,
  onDone,
}: {
  /** Whether a next key exists already. */
  readonly isUnderWay: boolean
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const [isForced, setForced] = useState(false)
  return (
    <FormDialog
      title={t('mesh.do.rotate')}
      confirm={t('mesh.rotate.go')}
      what={t(isUnderWay ? 'mesh.rotate.underWay' : 'mesh.rotate.what')}
      act={() => api.post('/v1/peers/rotate', { body: isForced ? { force: true } : {} })}
      done={({ waiting_for: names }) =>
        names.length === 0 ? t('mesh.rotated') : t('mesh.key.waiting', { names: names.join(', ') })
      }
      onDone={onDone}
      onClose={onClose}
    >
      <Checkbox text="mesh.rotate.force" isChecked={isForced} onChange={setForced} />
    </FormDialog>
  )
}
