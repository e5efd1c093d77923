/** All errors of Keepword, with the same names as in Python. The message says what is wrong, and what to do. */
export class KeepwordError extends Error {
  /** The HTTP status; 0 where no service answered. */
  readonly status: number;
  /** Also in the service's log. */
  readonly requestId: string | null;

  constructor(message: string, status = 0, requestId: string | null = null) {
    super(message);
    this.name = new.target.name;
    this.status = status;
    this.requestId = requestId;
  }
}

/** A value that can't be accepted; `field` names it. */
export class InvalidInput extends KeepwordError {
  readonly field: string | null;

  constructor(message: string, status = 0, requestId: string | null = null, field: string | null = null) {
    super(message, status, requestId);
    this.field = field;
  }
}
export class Malformed extends InvalidInput {}
export class WrongMedia extends InvalidInput {}
export class TooLarge extends InvalidInput {}
export class Unauthenticated extends KeepwordError {}
export class Forbidden extends KeepwordError {}
/** It does not exist, or this agent or user may not read it. */
export class NotFound extends KeepwordError {}
export class Conflict extends KeepwordError {}
/** It is not at the expected version; read it again. */
export class Outdated extends KeepwordError {}

/** The service or its database is away or too slow; try again after `retryAfterSeconds`. */
export class Unavailable extends KeepwordError {
  readonly retryAfterSeconds: number;

  constructor(message: string, status = 0, requestId: string | null = null, retryAfterSeconds = 1) {
    super(message, status, requestId);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
/** The tenant used up its quota of a day. */
export class OverQuota extends Unavailable {}
/** The service failed, or what answers at the address is no Keepword. */
export class BadAnswer extends KeepwordError {}

const BY_STATUS: Record<number, typeof KeepwordError> = {
  401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 412: Outdated,
};
const INVALID: Record<number, typeof InvalidInput> = { 400: Malformed, 413: TooLarge, 415: WrongMedia, 422: InvalidInput };

interface Problem {
  detail?: unknown;
  field?: string;
  request_id?: string;
}

/** Make the error of an answer that is no success. */
export async function errorOf(answer: Response, at: string): Promise<KeepwordError> {
  const problem = await readProblem(answer);
  if (problem === null) {
    return new BadAnswer(`${at} answered ${answer.status}, but not as Keepword does; is this the url of a Keepword?`, answer.status);
  }
  const message = String(problem.detail);
  const id = problem.request_id ?? null;
  const invalid = INVALID[answer.status];
  if (invalid) return new invalid(message, answer.status, id, problem.field ?? null);
  if (answer.status === 429 || answer.status === 503) {
    const wait = Number(answer.headers.get("retry-after") ?? "1");
    const kind = answer.status === 429 ? OverQuota : Unavailable;
    return new kind(message, answer.status, id, Number.isFinite(wait) ? wait : 1);
  }
  return new (BY_STATUS[answer.status] ?? BadAnswer)(message, answer.status, id);
}

async function readProblem(answer: Response): Promise<Problem | null> {
  if (!(answer.headers.get("content-type") ?? "").startsWith("application/problem+json")) return null;
  try {
    const body: unknown = await answer.json();
    return typeof body === "object" && body !== null && "detail" in body ? (body as Problem) : null;
  } catch {
    return null;
  }
}
